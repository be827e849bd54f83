package service

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var openAPIText []byte

// openAPI answers with the description of the routes.
func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonText
	_, _ = w.Write(openAPIText) // fails only if the client is gone
}
