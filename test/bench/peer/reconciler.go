package main

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	group              = "platform.di-framework.dev"
	finalizer          = group + "/finalizer"
	labelHostNamespace = group + "/host-namespace"
	annotationInstance = group + "/instance"
	annotationSource   = group + "/kubeconfig-source"
	labelManagedBy     = "app.kubernetes.io/managed-by"
	managedBy           = "platform-operator"
)

type reconciler struct {
	client.Client
	live   client.Reader
	events events.EventRecorder
	tools  *tools
	probes *probes
	poll   time.Duration
	own    string
}

func hostNamespace(key client.ObjectKey) string {
	sum := sha256.Sum256([]byte(key.Namespace + "/" + key.Name))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:12]
	readable := strings.ReplaceAll("pi-"+key.Namespace+"-"+key.Name, ".", "-")
	if len(readable) > 36 {
		readable = strings.TrimRight(readable[:36], "-")
	}
	return readable + "-" + hash
}

func (r *reconciler) setUp(manager ctrl.Manager, workers int) error {
	ofNamespace := func(ctx context.Context, name string) []reconcile.Request {
		namespace := &corev1.Namespace{}
		if err := r.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
			return nil
		}
		owner, instance, found := strings.Cut(namespace.Annotations[annotationInstance], "/")
		if !found {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: owner, Name: instance}}}
	}
	inside := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return ofNamespace(ctx, object.GetNamespace())
	})
	itself := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return ofNamespace(ctx, object.GetName())
	})
	return ctrl.NewControllerManagedBy(manager).
		For(&PlatformInstance{}).
		Owns(&corev1.Secret{}, builder.OnlyMetadata).
		Watches(&corev1.Namespace{}, itself).
		Watches(&networkingv1.NetworkPolicy{}, inside).
		Watches(&appsv1.StatefulSet{}, inside).
		Watches(&corev1.Service{}, inside).
		Watches(&corev1.Secret{}, inside, builder.OnlyMetadata).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	instance := &PlatformInstance{}
	if err := r.Get(ctx, request.NamespacedName, instance); err != nil {
		r.probes.forget(request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	host := hostNamespace(request.NamespacedName)
	if !instance.DeletionTimestamp.IsZero() {
		return r.remove(ctx, instance, host)
	}
	if !controllerutil.ContainsFinalizer(instance, finalizer) {
		before := instance.DeepCopy()
		controllerutil.AddFinalizer(instance, finalizer)
		if err := r.Patch(ctx, instance, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	before := instance.DeepCopy()
	result, err := r.bringUp(ctx, instance, host)
	if err != nil {
		r.condition(instance, "Ready", metav1.ConditionFalse, "TargetError", err.Error())
		instance.Status.Phase = "Failed"
	}
	if !equality.Semantic.DeepEqual(before.Status, instance.Status) {
		if failure := r.Status().Patch(ctx, instance, client.MergeFrom(before)); failure != nil && err == nil {
			err = failure
		}
	}
	return result, err
}

func (r *reconciler) condition(instance *PlatformInstance, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&instance.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: instance.Generation,
	})
}

func (r *reconciler) bringUp(ctx context.Context, instance *PlatformInstance, host string) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(instance)
	if err := r.ensureNamespace(ctx, key, host); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.ensureNetworkPolicy(ctx, host); err != nil {
		return ctrl.Result{}, err
	}
	set := &appsv1.StatefulSet{}
	err := r.Get(ctx, client.ObjectKey{Namespace: host, Name: "vcluster"}, set)
	if apierrors.IsNotFound(err) {
		r.waits(instance, "Creating", "the vCluster is being created")
		return ctrl.Result{}, r.tools.install(ctx, host)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if set.Status.ReadyReplicas == 0 {
		r.waits(instance, "ControlPlanePending", "the control plane is not ready")
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	source := secretMetadata()
	err = r.Get(ctx, client.ObjectKey{Namespace: host, Name: "vc-vcluster"}, source)
	if apierrors.IsNotFound(err) {
		r.waits(instance, "KubeconfigPending", "the kubeconfig is not there")
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.publish(ctx, instance, source); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.probes.ask(ctx, key); err != nil {
		r.waits(instance, "TargetUnreachable", err.Error())
		return ctrl.Result{RequeueAfter: r.poll}, nil
	}
	r.condition(instance, "TargetReady", metav1.ConditionTrue, "Ready", "the vCluster answers")
	if installed := meta.FindStatusCondition(instance.Status.Conditions, "Installed"); installed == nil || installed.Status != metav1.ConditionTrue || installed.ObservedGeneration != instance.Generation {
		// What is long is told before it begins.
		before := instance.DeepCopy()
		before.Status = PlatformStatus{}
		instance.Status.Phase = "Installing"
		r.condition(instance, "Ready", metav1.ConditionFalse, "Installing", "the platform is being installed")
		if err := r.Status().Patch(ctx, instance, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
		r.events.Eventf(instance, nil, corev1.EventTypeNormal, "Installing", "Install", "installing %s", instance.Spec.Version)
		if err := r.tools.up(ctx, key.String()); err != nil {
			return ctrl.Result{}, err
		}
		r.events.Eventf(instance, nil, corev1.EventTypeNormal, "Installed", "Install", "installed %s", instance.Spec.Version)
		r.condition(instance, "Installed", metav1.ConditionTrue, "FirstInstall", "installed "+instance.Spec.Version)
		r.condition(instance, "ConfigApplied", metav1.ConditionTrue, "Applied", "the config is applied")
		instance.Status.InstalledVersion = instance.Spec.Version
	}
	r.condition(instance, "Ready", metav1.ConditionTrue, "Ready", "the instance is ready")
	instance.Status.Phase = "Ready"
	instance.Status.ObservedGeneration = instance.Generation
	return ctrl.Result{RequeueAfter: r.poll}, nil
}

func (r *reconciler) waits(instance *PlatformInstance, reason, message string) {
	instance.Status.Phase = "Provisioning"
	r.condition(instance, "TargetReady", metav1.ConditionFalse, reason, message)
	r.condition(instance, "Ready", metav1.ConditionFalse, "TargetPending", message)
}

func (r *reconciler) ensureNamespace(ctx context.Context, key client.ObjectKey, host string) error {
	found := &corev1.Namespace{}
	err := r.Get(ctx, client.ObjectKey{Name: host}, found)
	if err == nil && found.Annotations[annotationInstance] != key.String() {
		return fmt.Errorf("namespace %s belongs to somebody else", host)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	err = r.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        host,
		Labels:      map[string]string{labelHostNamespace: "true", "pod-security.kubernetes.io/enforce": "privileged"},
		Annotations: map[string]string{annotationInstance: key.String()},
	}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (r *reconciler) ensureNetworkPolicy(ctx context.Context, host string) error {
	port := intstr.FromInt32(8443)
	dns := intstr.FromInt32(1053)
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	anyPod := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: host, Name: "platform-operator-control-plane"}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, policy, func() error {
		policy.Labels = map[string]string{labelManagedBy: managedBy}
		policy.Spec = networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "vcluster", "release": "vcluster"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{
					From: []networkingv1.NetworkPolicyPeer{
						{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": r.own}}},
						anyPod,
					},
					Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}},
				},
				{
					From:  []networkingv1.NetworkPolicyPeer{anyPod},
					Ports: []networkingv1.NetworkPolicyPort{{Protocol: &udp, Port: &dns}, {Protocol: &tcp, Port: &dns}},
				},
			},
		}
		return nil
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func secretMetadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return object
}

func (r *reconciler) publish(ctx context.Context, instance *PlatformInstance, source *metav1.PartialObjectMetadata) error {
	key := client.ObjectKeyFromObject(instance)
	version := string(source.UID) + "." + source.ResourceVersion
	published := secretMetadata()
	ref := client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-kubeconfig"}
	err := r.Get(ctx, ref, published)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	isCurrent := err == nil && published.Annotations[annotationSource] == version
	if isCurrent && r.probes.has(key, version) {
		return nil
	}
	secret := &corev1.Secret{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(source), secret); err != nil {
		return err
	}
	kubeconfig := secret.Data["config"]
	if err := r.probes.use(key, version, kubeconfig); err != nil {
		return err
	}
	instance.Status.KubeconfigSecretRef = &SecretReference{Name: ref.Name, Key: "kubeconfig"}
	if isCurrent {
		return nil
	}
	wanted := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ref.Namespace, Name: ref.Name,
			Labels:      map[string]string{labelManagedBy: managedBy},
			Annotations: map[string]string{annotationSource: version},
		},
		Data: map[string][]byte{"kubeconfig": kubeconfig},
	}
	if err := controllerutil.SetControllerReference(instance, wanted, r.Scheme()); err != nil {
		return err
	}
	if apierrors.IsNotFound(err) {
		err := r.Create(ctx, wanted)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	return r.Update(ctx, wanted)
}

func (r *reconciler) remove(ctx context.Context, instance *PlatformInstance, host string) (ctrl.Result, error) {
	namespace := &corev1.Namespace{}
	err := r.Get(ctx, client.ObjectKey{Name: host}, namespace)
	if err == nil {
		if namespace.DeletionTimestamp.IsZero() {
			err = r.Delete(ctx, namespace)
		}
		return ctrl.Result{RequeueAfter: r.poll}, client.IgnoreNotFound(err)
	}
	if !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	before := instance.DeepCopy()
	controllerutil.RemoveFinalizer(instance, finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, instance, client.MergeFrom(before)))
}
