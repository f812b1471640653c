package import Redaction
internal import Values

extension Profile: Redactable {
    /// Returns the profile without secrets, for a saved run.
    ///
    /// Templates such as `{{user}}` are kept, so that a saved run is judged with the same requests.
    package func redacted(by redaction: Redaction) -> Profile {
        var copy = self
        copy.target = target.map(redaction.target)
        copy.app.url = app.url.map(redaction.target)
        copy.app.access = app.access?.redacted(by: redaction)
        if let start { copy.start = start.redacted(by: redaction) }
        copy.endpoints = endpoints.mapValues { $0.redacted(by: redaction) }
        copy.creation = creation.redacted(by: redaction)
        copy.accountCreation = accountCreation?.redacted(by: redaction)
        copy.probes = probes.map { probe in
            var copy = probe
            switch probe.source {
            case .get(let path): copy.source = .get(redaction.target(path))
            case .command(let words): copy.source = .command(redaction.command(words))
            }
            return copy
        }
        return copy
    }
}

extension Profile.StartSettings {
    fileprivate func redacted(by redaction: Redaction) -> Profile.StartSettings {
        var copy = self
        copy.command = redaction.command(command)
        copy.environment = [:]
        for (name, text) in environment {
            let kind = SecretDeclaration.isLiteral(text) ? redaction.kind(ofVariable: name) : nil
            copy.environment[name] = kind.map { redaction.masked($0, text) } ?? redaction.text(text)
        }
        copy.variables = [:]
        if let ready { copy.ready?.path = redaction.target(ready.path) }
        return copy
    }
}

extension Profile.Endpoint {
    fileprivate func redacted(by redaction: Redaction) -> Profile.Endpoint {
        var copy = self
        copy.path = redaction.target(path)
        copy.body = body.map { $0.redactedAroundTemplates(by: redaction) }
        return copy
    }
}

extension Profile.SetupAction {
    fileprivate func redacted(by redaction: Redaction) -> Profile.SetupAction {
        switch self {
        case .register: self
        case .request(let endpoint): .request(endpoint.redacted(by: redaction))
        case .command(let words, let id): .command(redaction.command(words), id: id)
        }
    }
}

extension JSONValue {
    /// Returns the value with its secrets masked and its templates unchanged.
    fileprivate func redactedAroundTemplates(by redaction: Redaction) -> JSONValue {
        switch self {
        case .object(let object):
            .object(
                JSONObject(
                    members: object.members.map { member in
                        if let text = member.value.string, SecretDeclaration.isLiteral(text),
                            let kind = redaction.kind(ofVariable: member.key)
                        {
                            return .init(
                                key: member.key,
                                value: .string(redaction.masked(kind, text))
                            )
                        }
                        let redactedValue = member.value.redactedAroundTemplates(by: redaction)
                        return .init(key: member.key, value: redactedValue)
                    }
                )
            )
        case .array(let elements):
            .array(elements.map { $0.redactedAroundTemplates(by: redaction) })
        case .string(let text): .string(redaction.words(text))
        case .number, .bool, .null: self
        }
    }
}
