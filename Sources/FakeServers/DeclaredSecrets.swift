package import Conformance
internal import Providers

extension FakeWorld {
    /// What the fakes were told in confidence: keys, tokens and signing secrets of every namespace.
    package var declared: SecretDeclaration {
        var declared = SecretDeclaration()
        for namespace in namespaces {
            let secrets = read(namespace) { services, _ in services.secrets } ?? []
            for (name, secret) in secrets {
                // Namespaces may hold different ones under one name.
                let isNew = declared.values[name] == nil || declared.values[name] == secret
                declared.values[isNew ? name : name + "-" + namespace] = secret
            }
        }
        return declared
    }
}

extension Services {
    fileprivate var secrets: [(name: String, secret: Secret)] {
        var found: [(String, Secret?)] = [
            ("revenuecat-key", revenueCat.key), ("onesignal-key", oneSignal.key),
            ("purchasely-signing", purchasely.webhook?.secret),
        ]
        for webhook in revenueCat.webhooks {
            found.append(("revenuecat-authorization", webhook.authorization))
            found.append(("revenuecat-signing", webhook.signingKey))
        }
        return found.compactMap { name, secret in
            secret.flatMap { $0.isEmpty ? nil : (name, $0) }
        }
    }
}
