// Whether an instance's API answers. One client for each kubeconfig, for as long as it is the same.
package main

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type probe struct {
	source string
	client *kubernetes.Clientset
}

type probes struct {
	mutex sync.Mutex
	byKey map[client.ObjectKey]probe
}

func newProbes() *probes { return &probes{byKey: map[client.ObjectKey]probe{}} }

func (p *probes) has(key client.ObjectKey, source string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.byKey[key].source == source
}

func (p *probes) use(key client.ObjectKey, source string, kubeconfig []byte) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return err
	}
	config.Timeout = 5 * time.Second
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.byKey[key] = probe{source: source, client: clients}
	return nil
}

func (p *probes) forget(key client.ObjectKey) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.byKey, key)
}

// ask makes the three requests that the platform operator makes.
func (p *probes) ask(ctx context.Context, key client.ObjectKey) error {
	p.mutex.Lock()
	clients := p.byKey[key].client
	p.mutex.Unlock()
	if err := clients.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	core := clients.CoreV1()
	if _, err := core.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	_, err := core.Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	return err
}
