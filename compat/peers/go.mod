module github.com/holdfast-go/holdfast/compat/peers

go 1.26.0

require (
	github.com/gofrs/flock v0.13.2
	github.com/holdfast-go/holdfast v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.50.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/holdfast-go/holdfast => ../..
