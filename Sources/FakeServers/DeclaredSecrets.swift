internal import Providers
package import Redaction

extension FakeRegistry {
    /// The secrets that are configured in the fakes: keys, tokens and signing secrets of every
    /// namespace.
    package var declared: SecretDeclaration {
        var declared = SecretDeclaration()
        for namespace in namespaces {
            let secrets = read(namespace) { services, _ in services.enteredSecrets } ?? []
            for (name, secret) in secrets where !secret.isEmpty {
                // Several namespaces and webhooks may have secrets with the same name, so the
                // namespace and a number make the names unique.
                let names = [name, name + "-" + namespace]
                let numberedNames = (2...).lazy.map { "\(name)-\(namespace)-\($0)" }
                let isFreeName = { (name: String) in
                    declared.values[name].map { $0 == secret } ?? true
                }
                if let freeName = names.first(where: isFreeName)
                    ?? numberedNames.first(where: isFreeName)
                {
                    declared.values[freeName] = secret
                }
            }
        }
        return declared
    }
}
