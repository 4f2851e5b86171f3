//! Shell scripts that set up a cluster of simulated machines.
//!
//! Addresses: 10.90.0.10 is the control plane, 10.90.0.(10+i) node i; the pods of node i are in 10.244.i.0/24; services
//! are in 10.96.0.0/16.

/// Keys and kubeconfigs of everybody, in the directory $1, for $2 nodes.
pub(super) const KEYS: &str = r#"
mkdir -p "$directory/pki" "$directory/kubeconfig"
cd "$directory/pki"
openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl req -x509 -new -key ca.key -subj /CN=test-cluster -days 2 -out ca.crt 2>/dev/null
openssl genrsa -out accounts.key 2048 2>/dev/null
openssl rsa -in accounts.key -pubout -out accounts.pub 2>/dev/null
# certificate FILE SUBJECT USAGE [NAMES]
certificate() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
    printf 'extendedKeyUsage=%s\n%s' "$3" "${4:+subjectAltName=$4
}" >"$1.ext"
    openssl req -new -key "$1.key" -subj "$2" |
        openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
}
# kubeconfig NAME: the client's certificate is in it
kubeconfig() {
    cat >"$directory/kubeconfig/$1" <<END
apiVersion: v1
kind: Config
clusters:
- {name: test, cluster: {server: "https://10.90.0.10:6443", certificate-authority-data: $(base64 -w0 ca.crt)}}
users:
- {name: $1, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}
contexts:
- {name: test, context: {cluster: test, user: $1}}
current-context: test
END
}
certificate api /CN=kube-apiserver serverAuth DNS:kubernetes,DNS:localhost,IP:127.0.0.1,IP:10.90.0.10,IP:10.96.0.1
certificate to-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
for name in controller-manager scheduler proxy; do
    certificate $name /CN=system:kube-$name clientAuth
    kubeconfig $name
done
certificate admin /O=system:masters/CN=admin clientAuth
kubeconfig admin
certificate user /CN=user clientAuth
kubeconfig user
for node in $(seq "$nodes"); do
    certificate "node$node" "/O=system:nodes/CN=system:node:node$node" clientAuth
    kubeconfig "node$node"
    certificate "kubelet$node" "/CN=node$node" serverAuth "DNS:node$node,IP:10.90.0.$((10 + node))"
done
"#;

/// First process of the cluster's namespaces: the machine of the control plane, which starts the nodes' machines. Its
/// arguments are a directory, the name of the control groups, the number of nodes, the kind of the pod network, the mode
/// of kube-proxy and the directory of the programs.
pub(super) const INIT: &str = r#"
directory=$1 group=$2 nodes=$3 pods=$4 proxy=$5 programs=$6
mount -t tmpfs tmpfs /run
ip link set lo up
ip link add fabric type bridge
ip address add 10.90.0.10/24 dev fabric
ip link set fabric up
echo 1 >/proc/sys/net/ipv4/ip_forward
keys
cd "$directory"
mkdir -p log
own=$(readlink /proc/self/ns/net)
for node in $(seq "$nodes"); do
    unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc --propagation private \
        /bin/sh -c "$NODE" node "$directory" "$group" "$node" "$proxy" "$programs" >"log/node$node" 2>&1 </dev/null &
    until [ "$(readlink /proc/$!/ns/net)" != "$own" ]; do sleep 0.05; done
    ip link add "port$node" type veth peer name eth0 netns $!
    ip link set "port$node" master fabric up
    nsenter --target $! --net sh -euc "
        ip link set lo up
        ip address add 10.90.0.$((10 + node))/24 dev eth0
        ip link set eth0 up
        ip route add default via 10.90.0.10
        echo 1 >/proc/sys/net/ipv4/ip_forward
    "
    eval "machine$node=$!"
done
# The way to the pods of another node, from every machine.
for node in $(seq "$nodes"); do
    ip route add "10.244.$node.0/24" via "10.90.0.$((10 + node))"
    for other in $(seq "$nodes"); do
        [ "$other" != "$node" ] || continue
        eval "machine=\$machine$node"
        if [ "$pods" = vxlan ]; then
            nsenter --target "$machine" --net sh -euc "
                ip link show vxlan >/dev/null 2>&1 || {
                    ip link add vxlan type vxlan id 42 local 10.90.0.$((10 + node)) dstport 8472 nolearning
                    ip link set vxlan address 0a:00:00:00:00:0$node up
                    ip address add 10.244.$node.0/32 dev vxlan
                }
                ip neighbour replace 10.244.$other.0 lladdr 0a:00:00:00:00:0$other dev vxlan nud permanent
                bridge fdb replace 0a:00:00:00:00:0$other dev vxlan dst 10.90.0.$((10 + other))
                ip route add 10.244.$other.0/24 via 10.244.$other.0 dev vxlan onlink
            "
        elif [ "$pods" = routes ]; then
            nsenter --target "$machine" --net ip route add "10.244.$other.0/24" via "10.90.0.$((10 + other))"
        fi
    done
done
# started NAME ARGUMENTS...: one program of the control plane
started() {
    name=$1
    shift
    "$programs/cluster-programs" "$name" "$@" >"log/$name" 2>&1 </dev/null &
    echo $! >"log/$name.pid"
}
# What the administrator asks for, which tests count.
cat >audit.yaml <<END
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{level: Metadata, users: [admin]}]
END
start_api() {
    started kube-apiserver --advertise-address=10.90.0.10 --etcd-servers=http://127.0.0.1:2379 \
        --service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC --allow-privileged=true \
        --enable-admission-plugins=NodeRestriction --feature-gates=MutatingAdmissionPolicy=true \
        --runtime-config=admissionregistration.k8s.io/v1beta1=true --audit-policy-file=audit.yaml --audit-log-path=log/audit --client-ca-file=pki/ca.crt \
        --tls-cert-file=pki/api.crt --tls-private-key-file=pki/api.key \
        --kubelet-certificate-authority=pki/ca.crt --kubelet-preferred-address-types=InternalIP \
        --kubelet-client-certificate=pki/to-kubelet.crt --kubelet-client-key=pki/to-kubelet.key \
        --service-account-issuer=https://kubernetes.default.svc \
        --service-account-key-file=pki/accounts.pub --service-account-signing-key-file=pki/accounts.key
}
started etcd --data-dir "$directory/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
start_api
kubectl() { "$programs/cluster-programs" kubectl --kubeconfig kubeconfig/admin "$@"; }
until kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done
# It ends at once without the roles that the API server makes for it.
started kube-controller-manager --kubeconfig=kubeconfig/controller-manager --leader-elect=false \
    --authentication-kubeconfig=kubeconfig/controller-manager --authorization-kubeconfig=kubeconfig/controller-manager \
    --root-ca-file=pki/ca.crt --service-account-private-key-file=pki/accounts.key --bind-address=127.0.0.1 \
    --use-service-account-credentials=true --controllers='*,-node-ipam-controller,-node-route-controller'
started kube-scheduler --kubeconfig=kubeconfig/scheduler --leader-elect=false --bind-address=127.0.0.1 \
    --authentication-kubeconfig=kubeconfig/scheduler --authorization-kubeconfig=kubeconfig/scheduler
for node in $(seq "$nodes"); do
    until kubectl get node "node$node" >/dev/null 2>&1; do sleep 0.2; done
done
# Each node's part of the pods' network is where its plugin has it, and flannel connects the parts.
if [ "$pods" = flannel ]; then
    echo '{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}' >flannel.json
    for node in $(seq "$nodes"); do
        part="10.244.$node.0/24"
        kubectl patch node "node$node" --patch "{\"spec\": {\"podCIDR\": \"$part\", \"podCIDRs\": [\"$part\"]}}" >/dev/null
        eval "machine=\$machine$node"
        NODE_NAME=node$node nsenter --target "$machine" --net --mount flanneld --kube-subnet-mgr --iface eth0 \
            --kubeconfig-file "$directory/kubeconfig/admin" --net-config-path "$directory/flannel.json" \
            >"log/flannel$node" 2>&1 </dev/null &
    done
    for node in $(seq "$nodes"); do
        eval "machine=\$machine$node"
        others() { nsenter --target "$machine" --net ip route show dev flannel.1 2>/dev/null | wc -l; }
        until [ "$(others)" = $((nodes - 1)) ]; do sleep 0.1; done
    done
fi
kubectl wait --for=condition=Ready node --all --timeout=120s >/dev/null
# A pod needs its namespace's own account.
until kubectl get serviceaccount default >/dev/null 2>&1; do sleep 0.1; done
echo started
while read -r order; do
    case ${order%% *} in
        enforce-policies)
            for node in $(seq "$nodes"); do
                eval "machine=\$machine$node"
                nsenter --target "$machine" --net --mount --uts "$programs/cluster-addons" policy-controller \
                    --kubeconfig "$directory/kubeconfig/admin" >"log/policies$node" 2>&1 </dev/null &
            done
            ;;
        import)
            for node in $(seq "$nodes"); do
                eval "machine=\$machine$node"
                nsenter --target "$machine" --net --mount \
                    ctr --namespace k8s.io images import "$directory/images/${order#* }.tar" >/dev/null
            done
            ;;
        stop-api) kill -9 "$(cat log/kube-apiserver.pid)" && wait "$(cat log/kube-apiserver.pid)" || : ;;
        start-api) start_api ;;
    esac
    echo "done $order"
done
"#;

/// First process of a node's namespaces. Its arguments are the directory, the name of the control groups, the number of
/// the node, the mode of kube-proxy and the directory of the programs.
pub(super) const NODE: &str = r#"
set -eu
directory=$1 group=$2 node=$3 proxy=$4 programs=$5
own=$directory/node$node
mkdir -p "$own/groups" "$own/kubelet" "$own/containerd" "$own/cni-state" "$own/cni" "$own/log/pods" "$own/log/containers"
echo "node$node" >/proc/sys/kernel/hostname
# A sysfs of this network namespace, which shows the machine's control groups.
mount --rbind /sys/fs/cgroup "$own/groups"
mount -t sysfs sysfs /sys
mount --rbind "$own/groups" /sys/fs/cgroup
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock /var/lib/kubelet /var/lib/containerd /var/lib/cni /etc/cni
mount --bind "$own/kubelet" /var/lib/kubelet
mount --bind "$own/containerd" /var/lib/containerd
mount --bind "$own/cni-state" /var/lib/cni
mount --bind "$own/log" /var/log
mount --bind "$own/cni" /etc/cni
mkdir -p /etc/cni/net.d
# kubelet writes settings of the whole machine. It finds the values that it wants, in files of its own.
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
    file=$own/$(basename "${setting%=*}")
    echo "${setting#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${setting%=*}"
done
mount --make-rshared /
for hierarchy in /sys/fs/cgroup/*/; do
    [ -e "$hierarchy/tasks" ] || continue
    mkdir -p "$hierarchy$group/node$node"
    for file in cpuset.cpus cpuset.mems; do
        [ ! -e "$hierarchy$file" ] || {
            cat "$hierarchy$file" >"$hierarchy$group/$file"
            cat "$hierarchy$file" >"$hierarchy$group/node$node/$file"
        }
    done
done
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null || :
cat >/etc/cni/net.d/10-pods.conflist <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": 1450,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.$node.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
cat >"$own/containerd.toml" <<END
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "test.cluster/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
END
containerd --config "$own/containerd.toml" >"$own/containerd.log" 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for image in "$directory"/images/*.tar; do
    ctr --namespace k8s.io images import "$image" >/dev/null
done
cat >"$own/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 10.90.0.$((10 + node))
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $directory/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $directory/pki/kubelet$node.crt
tlsPrivateKeyFile: $directory/pki/kubelet$node.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$group/node$node
# This machine may have cgroup v1 alone, and a containerd that does not report its own file system.
failCgroupV1: false
featureGates: {KubeletSeparateDiskGC: false}
failSwapOn: false
resolvConf: ""
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
nodeStatusUpdateFrequency: 4s
END
cat >"$own/proxy.yaml" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $directory/kubeconfig/proxy}
mode: $proxy
clusterCIDR: 10.244.0.0/16
hostnameOverride: node$node
# Settings of the whole machine stay as they are.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
END
kubectl() { "$programs/cluster-programs" kubectl --kubeconfig "$directory/kubeconfig/node$node" "$@"; }
# Before the API server answers, a registration would wait for seconds.
until kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done
"$programs/cluster-programs" kube-proxy --config "$own/proxy.yaml" >"$own/proxy.log" 2>&1 &
"$programs/cluster-programs" kubelet --config "$own/kubelet.yaml" --kubeconfig "$directory/kubeconfig/node$node" \
    --hostname-override "node$node" --node-ip "10.90.0.$((10 + node))" >"$own/kubelet.log" 2>&1 &
# What loses its parent is this process's, and is waited for.
while :; do wait; sleep 1; done
"#;
