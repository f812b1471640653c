package import Conformance
internal import Providers

extension FakeRegistry {
    /// The secrets that are configured in the fakes: keys, tokens and signing secrets of every
    /// namespace.
    package var declared: SecretDeclaration {
        var declared = SecretDeclaration()
        for namespace in namespaces {
            let secrets = read(namespace) { services, _ in services.enteredSecrets } ?? []
            for (name, secret) in secrets where !secret.isEmpty {
                // Several namespaces and webhooks may have secrets with the same name.
                let names = [name, name + "-" + namespace]
                let numbered = (2...).lazy.map { "\(name)-\(namespace)-\($0)" }
                let isFree = { (name: String) in
                    declared.values[name].map { $0 == secret } ?? true
                }
                if let free = names.first(where: isFree) ?? numbered.first(where: isFree) {
                    declared.values[free] = secret
                }
            }
        }
        return declared
    }
}
