/// Formats the URL of a port that Assay listens on.
package enum AdvertisedAddress {
    /// Returns a URL at which a port can be called.
    ///
    /// A port that listens on all addresses gets the loopback address, because `0.0.0.0` cannot be
    /// called.
    package static func url(host: String, port: Int) -> String {
        let urlHost =
            switch host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            case _ where host.contains(":"): "[\(host)]"
            default: host
            }
        return "http://\(urlHost):\(port)"
    }
}
