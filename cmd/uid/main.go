// Command uid makes ids and takes them apart.
package main

func main() {}
