# shellcheck shell=bash
# Fills the storage of the cluster's npm registry: the fixture packages, and everything they depend on. This is the
# one part that asks the outside, once for each change of a fixture's dependencies. Sourced by up.

registry=$cache/registry
fixtures=$tools/../test/fixtures/platform
# The versions of the fixture package, a line each: version and hash of its content.
fixture_versions() { "$binaries/node" "$fixtures/pack.mts" list; }

# The same of what the storage has; each published package names the hash it was made with.
stored_versions() {
  "$binaries/node" -p 'Object.values(require(process.argv[1]).versions).map((v) => `${v.version} ${v.fixtureContent}`).join("\n")' \
    "$registry/storage/@di-framework/platform/package.json" 2> /dev/null || true
}

install_registry() {
  local key; key=$(cat "$here/registry/package-lock.json" "$here/registry/package.json" | sha256sum | cut -c1-12)
  [ "$(cat "$registry/server/.key" 2> /dev/null)" != "$key" ] || return 0
  say "installing the local npm registry (once)"
  rm -rf "$registry/server"
  mkdir -p "$registry/server"
  cp "$here"/registry/package*.json "$registry/server/"
  (cd "$registry/server" && npm ci --ignore-scripts --no-audit --no-fund > npm.log 2>&1 8>&-) || die "npm could not install it; see $registry/server/npm.log"
  echo "$key" > "$registry/server/.key"
}

prepare_registry() {
  local key versions port pid uplink
  install_registry
  cp "$here/registry/config.yaml" "$registry/config.yaml"
  versions=$(fixture_versions)
  key=$({ cat "$here/registry/extra-packages" "$here/registry/config.yaml"; echo "$versions"; } | sha256sum | cut -c1-12)
  [ "$(cat "$registry/filled" 2> /dev/null)" != "$key" ] || return 0
  say "filling the local npm registry"
  rm -rf "$registry/filling"
  mkdir -p "$registry/filling/project"
  uplink=$(npm config get registry)
  sed -e "s|^storage:.*|storage: $registry/storage|" -e "s|^  \"\*\*\":.*|  \"@di-framework/*\": { access: \$all, publish: \$all, unpublish: \$all }\n  \"**\": { access: \$all, proxy: outside }|" \
    "$registry/config.yaml" > "$registry/filling/config.yaml"
  printf 'uplinks: { outside: { url: "%s", timeout: 60s, maxage: 60m, max_fails: 10 } }\n' "$uplink" >> "$registry/filling/config.yaml"
  port=$(free_port 24873) || die "ports 24873 to 24972 are all taken"
  # It must not outlive up, however that ends.
  (exec setpriv --pdeathsig KILL "$binaries/node" "$registry/server/node_modules/verdaccio/bin/verdaccio" \
    --config "$registry/filling/config.yaml" --listen "127.0.0.1:$port" > "$registry/filling.log" 2>&1 6<&- 8>&-) &
  pid=$!
  filling=$pid
  fill "http://127.0.0.1:$port/" "$pid" "$versions" || die "the npm registry could not be filled: $(grep -m 1 'npm error' "$registry/filling.log" || true); see $registry/filling.log"
  stop_filling
  rm -rf "$registry/filling"
  echo "$key" > "$registry/filled"
}

stop_filling() {
  [ -z "${filling:-}" ] || { kill "$filling" 2> /dev/null && wait "$filling" 2> /dev/null || true; }
  filling=''
}

fill() { # URL PID VERSIONS
  local url=$1 packages tries=0
  until curl -sf "$url-/ping" > /dev/null; do
    tries=$((tries + 1))
    kill -0 "$2" && [ $tries -lt 300 ] || return 1
    sleep 0.1
  done
  # A registry of one's own, a cache of one's own, nobody's password: npm wants some token to publish.
  printf 'registry=%s\n%s:_authToken=nobody\naudit=false\nfund=false\nupdate-notifier=false\n' "$url" "${url#http:}" > "$registry/filling/npmrc"
  local package npm=(npm --userconfig "$registry/filling/npmrc" --cache "$registry/filling/cache" --registry "$url" --ignore-scripts)
  mapfile -t packages < "$here/registry/extra-packages"
  resolve "${packages[*]}" "${packages[@]}" || return 1
  publish "$3" || return 1
  package=$("$binaries/node" -p 'const p = require(process.argv[1]); `${p.name}@${p.version} ${JSON.stringify(p.dependencies)}`' "$fixtures/package.json")
  resolve "$package" "${package%% *}"
}

# Only what changed: the same storage may be serving another cluster just now.
publish() { # VERSIONS; `npm` as set by fill
  local stored version content folder=$registry/filling/package
  stored=$(stored_versions)
  while read -r version content; do
    [ -z "$version" ] || grep -qxF "$version $content" <<< "$1" ||
      "${npm[@]}" unpublish --force "@di-framework/platform@$version" >> "$registry/filling.log" 2>&1 8>&- < /dev/null || return 1
  done <<< "$stored"
  while read -r version content; do
    if grep -qxF "$version $content" <<< "$stored"; then continue; fi
    rm -rf "$folder"
    "$binaries/node" "$fixtures/pack.mts" write "$version" "$folder" || return 1
    # Without a tag of its own npm refuses what is older than the newest.
    "${npm[@]}" publish --tag fixture "$folder" >> "$registry/filling.log" 2>&1 8>&- < /dev/null || return 1
  done <<< "$1"
}

# As an instance would, into an empty project: the versions that npm then chooses are in the storage. Once for each KEY.
resolve() { # KEY PACKAGES...; `npm` as set by fill
  local key=$1; shift
  if grep -qxF "$key" "$registry/installed" 2> /dev/null; then return; fi
  rm -rf "$registry/filling/project"
  mkdir -p "$registry/filling/project"
  echo '{"private":true}' > "$registry/filling/project/package.json"
  (cd "$registry/filling/project" && "${npm[@]}" install "$@" >> "$registry/filling.log" 2>&1 8>&-) || return 1
  echo "$key" >> "$registry/installed"
}
