// Command etcd is etcd itself: its module publishes the server as a library, and this is all that is missing.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
