/// What is loaded before a backend whose language's clients know no proxy.
package enum EgressHook {
    /// CommonJS, for `node --require`.
    package static let node = String(decoding: PackageResources.egress_cjs, as: UTF8.self)
    /// Loaded by Python from a folder of `PYTHONPATH`.
    package static let python = String(decoding: PackageResources.sitecustomize_py, as: UTF8.self)
    /// For PHP's streams, which read no variable; its curl does.
    package static let php = """
        <?php
        stream_context_set_default(['http' => [
            'proxy' => 'tcp://' . getenv('\(addressVariable)'), 'request_fulluri' => true,
        ]]);

        """
    /// Where they find the proxy: `HOST:PORT`.
    package static let addressVariable = "ASSAY_EGRESS"
    /// Hosts that they leave alone, between commas.
    package static let allowedVariable = "ASSAY_EGRESS_ALLOW"
}
