// Package compat has what a move from another id generator needs once: the layouts whose ids exist
// already, the decoders that those ids need, and the texts that other programs expect. A new
// generator needs none of it, unless it goes on with the layout of an old one.
package compat
