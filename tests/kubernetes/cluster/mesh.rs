//! Stand-in for a service mesh: the API server itself puts a proxy into pods that ask for one by Istio's label, and a rule of
//! netfilter turns the pod's connections to it. Real meshes do both by programs that no package registry here has.

/// User of the proxy, whose own connections are not turned.
const PROXY_USER: u32 = 1337;

/// Image of the proxy and of the program that writes the rule.
pub(super) const IMAGE: &str = "test.cluster/mesh:1";

/// What the stand-in does to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeshInjection {
    /// The pod has a proxy, and its connections are turned to it.
    Redirecting,
    /// The pod has a proxy that no connection takes.
    Idle,
}

/// Returns the objects by which the API server injects.
pub(super) fn injection_objects(injection: MeshInjection) -> String {
    let init = match injection {
        MeshInjection::Redirecting => redirecting_container(),
        MeshInjection::Idle => String::new(),
    };
    format!(
        r#"
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {{name: mesh}}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  matchConditions:
  - name: asked
    expression: >-
      has(object.metadata.labels) && 'sidecar.istio.io/inject' in object.metadata.labels
      && object.metadata.labels['sidecar.istio.io/inject'] == 'true'
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [
          {init}
          JSONPatch{{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{{
            name: 'mesh-proxy', image: '{IMAGE}', command: ['/cluster-addons', 'mesh-proxy'],
            securityContext: Object.spec.containers.securityContext{{runAsUser: {PROXY_USER}}}
          }}}}
        ]
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: mesh}}
spec: {{policyName: mesh}}
"#
    )
}

/// Returns the container that writes the pod's rules before the others start, as changes of the patch. The API server of 1.35
/// panics at a change whose value is a list of objects.
fn redirecting_container() -> String {
    let rules = format!(
        "table ip mesh {{ \
         chain out {{ type nat hook output priority -100; oif != lo tcp dport != 0 meta skuid != {PROXY_USER} redirect to :15001; }}; \
         chain in {{ type nat hook prerouting priority -100; tcp dport != 0 redirect to :15006; }}; }}"
    );
    format!(
        "JSONPatch{{op: 'add', path: '/spec/initContainers', value: []}},
          JSONPatch{{op: 'add', path: '/spec/initContainers/-', value: Object.spec.initContainers{{
            name: 'mesh-rules', image: '{IMAGE}', command: ['/usr/sbin/nft', '{rules}'],
            securityContext: Object.spec.initContainers.securityContext{{
              runAsUser: 0, runAsNonRoot: false,
              capabilities: Object.spec.initContainers.securityContext.capabilities{{add: ['NET_ADMIN']}}
            }}
          }}}},"
    )
}

/// Pod that asks for a proxy, and is not made: what the API server would make of it tells that the policy is in force.
pub(super) const ASKING_POD: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: asking, labels: {sidecar.istio.io/inject: "true"}}
spec: {containers: [{name: tare, image: none}]}
"#;
