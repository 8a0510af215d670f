#!/usr/bin/env bash
# The npm registry of the cluster, for pods and for processes on the node. REGISTRY and NODE come from up.
exec "$NODE" "$REGISTRY/server/node_modules/verdaccio/bin/verdaccio" --config "$REGISTRY/config.yaml" --listen 10.240.0.1:4873
