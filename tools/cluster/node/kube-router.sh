#!/usr/bin/env bash
# kube-router ends when its node is not there yet.
until kubectl --kubeconfig=/run/cluster/node.kubeconfig get node node1 > /dev/null 2>&1; do sleep 0.2; done
exec kube-router "$@"
