/// What people and programs are told of a port that is listened on.
package enum ToldAddress {
    /// An address at which it can be called: whoever listens on all of a machine's is told as loopback,
    /// for nobody can call `0.0.0.0`.
    package static func url(host: String, port: Int) -> String {
        let callable =
            switch host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            case _ where host.contains(":"): "[\(host)]"
            default: host
            }
        return "http://\(callable):\(port)"
    }
}
