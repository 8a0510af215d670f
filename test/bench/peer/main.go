// The peer of the bench: an operator on controller-runtime that does the work of the platform operator on the same
// objects, as that framework's own guide has it. A host namespace, its network policy, the release, the published
// kubeconfig, an install, the status, a finalizer.
//
//	peer --tools=URL [--kubeconfig=FILE] [--workers=10] [--target-poll=10s] [--probe-address=127.0.0.1:8081]
package main

import (
	"context"
	"flag"
	"net/http"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func selector(pairs labels.Set) cache.ByObject {
	return cache.ByObject{Label: labels.SelectorFromSet(pairs), Transform: cache.TransformStripManagedFields()}
}

func run() error {
	address := flag.String("tools", "", "address of the bench's tools")
	workers := flag.Int("workers", 10, "instances that are reconciled at once")
	poll := flag.Duration("target-poll", 10*time.Second, "how often a vCluster's API is asked")
	probes := flag.String("probe-address", "127.0.0.1:8081", "address of the probes")
	namespace := flag.String("operator-namespace", "platform-operator", "where the operator runs")
	flag.Parse()
	log.SetLogger(zap.New(zap.UseDevMode(false)))

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	addToScheme(scheme)
	config := ctrl.GetConfigOrDie()
	// The server's own flow control is what limits, as for the other side.
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: *probes,
		Metrics:                server.Options{BindAddress: "127.0.0.1:0"},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Namespace{}:           selector(labels.Set{labelHostNamespace: "true"}),
				&networkingv1.NetworkPolicy{}: selector(labels.Set{labelManagedBy: managedBy}),
				&appsv1.StatefulSet{}:         selector(labels.Set{"app": "vcluster"}),
				&corev1.Service{}:             selector(labels.Set{"app": "vcluster"}),
			},
		},
	})
	if err != nil {
		return err
	}
	reconciler := &reconciler{
		Client: manager.GetClient(),
		live:   manager.GetAPIReader(),
		events: manager.GetEventRecorder("platform-operator"),
		tools:  &tools{address: *address, client: &http.Client{}},
		probes: newProbes(),
		poll:   *poll,
		own:    *namespace,
	}
	if err := reconciler.setUp(manager, *workers); err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	synced := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !manager.GetCache().WaitForCacheSync(ctx) {
			return context.DeadlineExceeded
		}
		return nil
	}
	if err := manager.AddReadyzCheck("readyz", synced); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		log.Log.Error(err, "the peer ended")
		os.Exit(1)
	}
}
