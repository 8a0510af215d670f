// Command etcd is etcd itself: its module cannot be installed by name, so its main function is called here.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
