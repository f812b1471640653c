import Testing
import Values

/// The rules for hosts in URLs and options.
@Suite("Host names")
struct HostNameTests {
    @Test(arguments: [
        "localhost", "host.docker.internal", "my_service", "a", "10.0.0.1", "255.255.255.255",
        "::1",
        "fe80::1", "::ffff:10.0.0.1", "1password.example", "a-1",
    ]) func `a host that can be called is valid`(host: String) {
        #expect(HostName.isValid(host))
    }

    @Test(arguments: [
        "", ".", "a..b", "a b", "65536", "1", "0x7f.1", "1.2.3", "1.2.3.4.5", "256.1.1.1",
        "host:80", "http://a", "a/b", "é", "１２７.0.0.1", String(repeating: "x", count: 64),
    ]) func `a number or other text is no host`(host: String) {
        #expect(!HostName.isValid(host))
    }

    @Test func `no number without dots is a host`() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            #expect(!HostName.isValid(String(UInt64.random(in: 0 ... .max, using: &generator))))
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
    func `this machine is loopback`(host: String) {
        #expect(HostName.isLoopback(host))
    }

    @Test(arguments: [
        "127.example.com", "127.", "127.0.0.1.example.com", "127.0.0", "128.0.0.1", "127.0.0.256",
        "127.٣.٣.٣", "localhost.example.com",
    ]) func `a name that looks like this machine is not loopback`(host: String) {
        #expect(!HostName.isLoopback(host))
    }
}
