package main

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"unsafe"
)

// Ports to which a pod's connections are turned: those that leave it, and those that reach it.
const (
	outboundPort = ":15001"
	inboundPort  = ":15006"
)

// originalDestination is the socket option that has the address before netfilter changed it (SO_ORIGINAL_DST).
const originalDestination = 80

// runMeshProxy carries the connections that are turned to it to where they were going: a sidecar without anything else.
func runMeshProxy() error {
	ended := make(chan error)
	for _, port := range []string{outboundPort, inboundPort} {
		listener, err := net.Listen("tcp4", port)
		if err != nil {
			return err
		}
		go func() { ended <- serve(listener) }()
	}
	return <-ended
}

func serve(listener net.Listener) error {
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go carry(client.(*net.TCPConn))
	}
}

func carry(client *net.TCPConn) {
	defer client.Close()
	wanted, err := wantedAddress(client)
	if err != nil {
		return
	}
	server, err := net.DialTCP("tcp4", nil, wanted)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{})
	go func() {
		io.Copy(server, client)
		server.CloseWrite()
		close(done)
	}()
	io.Copy(client, server)
	client.CloseWrite()
	<-done
}

// wantedAddress returns the address to which the client connected.
func wantedAddress(client *net.TCPConn) (*net.TCPAddr, error) {
	raw, err := client.SyscallConn()
	if err != nil {
		return nil, err
	}
	var address syscall.RawSockaddrInet4
	length := uint32(unsafe.Sizeof(address))
	var failed syscall.Errno
	err = raw.Control(func(descriptor uintptr) {
		_, _, failed = syscall.Syscall6(syscall.SYS_GETSOCKOPT, descriptor, syscall.IPPROTO_IP, originalDestination,
			uintptr(unsafe.Pointer(&address)), uintptr(unsafe.Pointer(&length)), 0)
	})
	if err != nil {
		return nil, err
	}
	if failed != 0 {
		return nil, failed
	}
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&address.Port))[:])
	return &net.TCPAddr{IP: net.IP(address.Addr[:]), Port: int(port)}, nil
}
