# shellcheck shell=bash
# The cluster's certificates and the kubeconfigs made of them. Made once for a state folder and good for ten years,
# so that a kubeconfig stays valid when the node is started again. Sourced by up.

key() { # NAME SUBJECT EXTENSIONS... : a key and a certificate signed by the cluster's CA
  local name=$1 subject=$2 extension args=(); shift 2
  for extension in "$@"; do args+=(-addext "$extension"); done
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "$subject" \
    -CA ca.crt -CAkey ca.key -config request.conf -addext basicConstraints=critical,CA:FALSE \
    "${args[@]}" -keyout "$name.key" -out "$name.crt" 2> openssl.log || die "openssl could not make $name: $(tail -n 1 openssl.log)"
}

kubeconfig() { # FILE SERVER KEY-NAME
  local pki=$state/pki
  rm -f "$1.new"
  (umask 077; : > "$1.new")
  cat >> "$1.new" <<Y
apiVersion: v1
kind: Config
current-context: local
clusters:
  - name: local
    cluster:
      server: $2
      certificate-authority-data: $(base64 -w0 < "$pki/ca.crt")
users:
  - name: local
    user:
      client-certificate-data: $(base64 -w0 < "$pki/$3.crt")
      client-key-data: $(base64 -w0 < "$pki/$3.key")
contexts:
  - name: local
    context: { cluster: local, user: local }
Y
  mv "$1.new" "$1"
}

make_pki() (
  umask 077
  if [ ! -e "$state/pki/complete" ]; then
    rm -rf "$state/pki"
    mkdir -p "$state/pki"
    cd "$state/pki" || exit
    printf '[req]\ndistinguished_name = name\n[name]\n' > request.conf
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=local-cluster -config request.conf \
      -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.crt 2> openssl.log ||
      die "openssl could not make the certificate authority: $(tail -n 1 openssl.log)"
    local server=extendedKeyUsage=serverAuth client=extendedKeyUsage=clientAuth
    key kube-apiserver /CN=kube-apiserver $server \
      subjectAltName=IP:127.0.0.1,IP:10.240.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
    key kubelet-serving /CN=node1 $server subjectAltName=IP:10.240.0.1,IP:127.0.0.1,DNS:node1
    key kube-apiserver-kubelet /O=system:masters/CN=kube-apiserver-kubelet $client
    key front-proxy /CN=front-proxy $client
    key admin /O=system:masters/CN=admin $client
    key kube-controller-manager /CN=system:kube-controller-manager $client
    key kube-scheduler /CN=system:kube-scheduler $client
    key kube-proxy /CN=system:kube-proxy $client
    key kubelet /O=system:nodes/CN=system:node:node1 $client
    openssl ecparam -name prime256v1 -genkey -noout -out sa.key
    openssl ec -in sa.key -pubout -out sa.pub 2> openssl.log
    touch complete
  fi
  local name
  for name in kube-controller-manager kube-scheduler kube-proxy kubelet; do
    kubeconfig "$state/$name.kubeconfig" https://127.0.0.1:6443 "$name"
  done
  kubeconfig "$state/node.kubeconfig" https://127.0.0.1:6443 admin
)
