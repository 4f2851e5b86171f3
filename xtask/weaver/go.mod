// Builds weaver, Weave Net's router. It is older than Go's modules and names none of what it is made of: by Go's rules the
// newest of each would be taken, with which it does not compile. These exact versions are those of its release, or the
// nearest to them that can still be had; no others are known to build.
module weaverbuild

go 1.20

require (
	github.com/andybalholm/go-bit v1.0.1
	github.com/aws/aws-sdk-go v1.34.0
	github.com/boltdb/bolt v1.3.1
	github.com/containernetworking/cni v0.5.2
	github.com/coreos/go-iptables v0.6.0
	github.com/docker/docker v0.0.0-20180612054059-a9fbbdc8dd87
	github.com/docker/libnetwork v0.0.0-20180830151422-a9cd636e3789
	github.com/fsouza/go-dockerclient v1.2.0
	github.com/google/gopacket v1.1.16
	github.com/gorilla/mux v1.8.0
	github.com/j-keck/arping v0.0.0-20160618110441-2cf9dc699c56
	github.com/miekg/dns v1.0.4
	github.com/pkg/errors v0.9.1
	github.com/pkg/profile v1.2.1
	github.com/prometheus/client_golang v0.9.0-pre1
	github.com/sirupsen/logrus v1.9.0
	github.com/vishvananda/netlink v1.0.0
	github.com/vishvananda/netns v0.0.0-20210104183010-2eb08e3e575f
	github.com/weaveworks/common v0.0.0-20180321110636-ebab3a78900a
	github.com/weaveworks/go-checkpoint v0.0.0-20170503165305-ebbb8b0518ab
	github.com/weaveworks/go-odp v0.0.0-20181017121109-6b0aa22550d9
	github.com/weaveworks/mesh v0.0.0-20191105120815-58dbcc3e8e63
	github.com/weaveworks/weave v2.6.5+incompatible
	golang.org/x/crypto v0.14.0
	golang.org/x/sys v0.13.0
	k8s.io/api v0.17.5
	k8s.io/apimachinery v0.17.5
	k8s.io/client-go v0.17.5
)

require (
	github.com/beorn7/perks v1.0.1
	github.com/containerd/continuity v0.0.0-20200710164510-efbc4488d8fe
	github.com/docker/go-connections v0.4.0
	github.com/docker/go-units v0.5.0
	github.com/hashicorp/go-cleanhttp v0.5.2
	github.com/json-iterator/go v1.1.12
	github.com/matttproud/golang_protobuf_extensions v1.0.4
	github.com/modern-go/reflect2 v1.0.2
	github.com/opencontainers/image-spec v1.0.2
	github.com/opencontainers/runc v0.1.1
	github.com/prometheus/client_model v0.3.0
	github.com/prometheus/common v0.0.0-20181113130724-41aa239b4cce
	github.com/prometheus/procfs v0.0.0-20181005140218-185b4288413d
)

require (
	github.com/Nvveen/Gotty v0.0.0-20120604004816-cd527374f1e5 // indirect
	github.com/ishidawataru/sctp v0.0.0-20180213033435-07191f837fed // indirect
)
