# The platform operator's image. Its build context is not the repository but what tools/image assembles: programs built
# elsewhere, the bundled entry points, the vCluster chart. Any builder will do:
#
#   tools/image context DIR && docker build -f Dockerfile DIR
#
# Layers go from what rarely changes to what always does.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}

# tini is process 1: it reaps what a killed child leaves behind and passes signals to the operator alone.
RUN if ! [ -x /usr/bin/tini ] || ! [ -e /etc/ssl/certs/ca-certificates.crt ]; then \
      apt-get update && apt-get install -y --no-install-recommends tini ca-certificates && rm -rf /var/lib/apt/lists/*; \
    fi \
    && echo 'platform-operator:x:1000:1000::/home/platform-operator:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'platform-operator:x:1000:' >> /etc/group \
    && install -d -o 1000 -g 1000 /home/platform-operator /var/lib/platform-operator /run/platform-operator

# /usr/local: node, npm, helm, pulumi, platform-sandbox. /opt/pulumi/plugins: the Kubernetes provider of the newest platform.
COPY programs/ /

# /opt/platform-operator: main.mjs, runner.mjs, cleanup.mjs, rotate-passphrase.mjs, backup.mjs, kubectl-pi.mjs, wrapper/, charts/vcluster/, release.json.
COPY operator/ /

# The operator's code as this Node.js compiles it for this user: without it a start takes a third more CPU time and a fifth
# more memory. The seed makes it the same each time; root owns it, so that nobody in the container can change it.
RUN install -d -o 1000 -g 1000 /opt/platform-operator/compiled \
    && NODE_COMPILE_CACHE=/opt/platform-operator/compiled setpriv --reuid=1000 --regid=1000 --clear-groups \
      node --random-seed=1 /opt/platform-operator/main.mjs --help > /dev/null \
    && chown -R 0:0 /opt/platform-operator/compiled \
    && chmod -R u=rwX,go=rX /opt/platform-operator/compiled \
    && [ -n "$(find /opt/platform-operator/compiled -type f)" ]

ARG VERSION=0.0.0
LABEL org.opencontainers.image.title="platform-operator" \
      org.opencontainers.image.description="Turns a PlatformInstance into a running, isolated copy of the di-framework platform" \
      org.opencontainers.image.source="https://github.com/di-framework/platform" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"

ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/opt/platform-operator/compiled \
    USER=platform-operator \
    HOME=/home/platform-operator
WORKDIR /opt/platform-operator
USER 1000:1000
# 8080 metrics, 8081 health.
EXPOSE 8080 8081
ENTRYPOINT ["/usr/bin/tini", "--", "node", "/opt/platform-operator/main.mjs"]
