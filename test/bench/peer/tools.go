// The tools of the bench: what Helm and the engine would do is done, for both operators alike, by one process beside them.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

type tools struct {
	address string
	client  *http.Client
}

func (t *tools) post(ctx context.Context, verb string, query url.Values) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address+"/"+verb+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", verb, body)
	}
	return nil
}

// install brings the release up in a host namespace; it waits for nothing to be ready.
func (t *tools) install(ctx context.Context, namespace string) error {
	return t.post(ctx, "install", url.Values{"namespace": {namespace}})
}

// up installs the platform inside.
func (t *tools) up(ctx context.Context, key string) error {
	return t.post(ctx, "up", url.Values{"instance": {key}})
}
