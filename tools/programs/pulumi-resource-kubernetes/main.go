// Command pulumi-resource-kubernetes is the Kubernetes provider of Pulumi.
//
// The module is published without the two generated files its own main package embeds, so that package does
// not compile. This one embeds the module's own schema and mapping instead: the build lays them beside this
// file with an overlay (see ../build.sh), and the version goes in at the front of the schema.
package main

import (
	"bytes"
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var terraformMapping []byte

func main() {
	versioned := bytes.Replace(schema, []byte("{"), []byte(`{"version":"`+version.Version+`",`), 1)
	provider.Serve("kubernetes", version.Version, versioned, terraformMapping)
}
