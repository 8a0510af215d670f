// The types of the API that both operators serve, as far as this one uses them.
package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "platform.di-framework.dev", Version: "v1alpha1"}

type PlatformInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PlatformSpec   `json:"spec"`
	Status PlatformStatus `json:"status,omitempty"`
}

type PlatformSpec struct {
	Version string `json:"version"`
}

type PlatformStatus struct {
	ObservedGeneration  int64              `json:"observedGeneration,omitempty"`
	Phase               string             `json:"phase,omitempty"`
	InstalledVersion    string             `json:"installedVersion,omitempty"`
	KubeconfigSecretRef *SecretReference   `json:"kubeconfigSecretRef,omitempty"`
	Conditions          []metav1.Condition `json:"conditions,omitempty"`
}

type SecretReference struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type PlatformInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PlatformInstance `json:"items"`
}

func (in *PlatformInstance) DeepCopy() *PlatformInstance {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Status.KubeconfigSecretRef != nil {
		ref := *in.Status.KubeconfigSecretRef
		out.Status.KubeconfigSecretRef = &ref
	}
	if in.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(in.Status.Conditions))
		for i := range in.Status.Conditions {
			in.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
	return &out
}

func (in *PlatformInstance) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *PlatformInstanceList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]PlatformInstance, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopy()
	}
	return &out
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &PlatformInstance{}, &PlatformInstanceList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}
