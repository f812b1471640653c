/// Scripts that make a backend call the intercepting proxy although its HTTP client ignores proxy
/// settings.
///
/// They are loaded before the code of the backend.
package enum EgressHook {
    /// The CommonJS module for `node --require`.
    package static let nodeScript = String(decoding: PackageResources.egress_cjs, as: UTF8.self)
    /// The `sitecustomize` module that Python loads from a folder of `PYTHONPATH`.
    package static let pythonScript = String(
        decoding: PackageResources.sitecustomize_py,
        as: UTF8.self
    )
    /// PHP code that sets the proxy for PHP streams, which ignore proxy variables, unlike PHP's
    /// curl.
    package static let phpScript = """
        <?php
        stream_context_set_default(['http' => [
            'proxy' => 'tcp://' . getenv('\(addressVariable)'), 'request_fulluri' => true,
        ]]);

        """
    /// The name of the environment variable with the address of the proxy, `HOST:PORT`.
    package static let addressVariable = "ASSAY_EGRESS"
    /// The name of the environment variable with the hosts that are called directly, separated by
    /// commas.
    package static let allowedHostsVariable = "ASSAY_EGRESS_ALLOW"
}
