package import Grammar
package import Providers
package import Values

extension Profile {
    /// Returns the location of each template in the request body of an endpoint, by the template's
    /// name.
    package func pointersByTemplateName(in endpoint: String) -> [String: JSONPointer] {
        endpoints[endpoint]?.body.map(\.templatePointersInJSON) ?? [:]
    }
}

extension Profile.Endpoint {
    /// The names of the templates in the path, the body and the credentials.
    package var templateNames: Set<String> {
        Set(Template(path).names).union(body?.templateNames ?? [])
            .union(credentials?.templateNames ?? [])
    }

    /// Returns the request to this endpoint, with the templates in path and body replaced.
    ///
    /// - Parameters:
    ///   - values: The values of the templates; a JSON member whose template has no value is
    ///     omitted.
    ///   - idForm: The form of user IDs; an integer ID that is a whole JSON value is sent as a
    ///     number.
    ///   - fields: The header fields in addition to the content type.
    /// - Returns: The request, with a JSON body if the endpoint has one.
    package func request(
        _ values: [String: String?],
        idForm: UserIDForm,
        fields: [HTTPMessage.Field] = []
    ) -> HTTPMessage.Request {
        var source = NamedValues(texts: values)
        source.markMissing(.endpoint)
        let target = source.fill(target: path)
        if idForm == .integer, let id = values["id"]??.integer {
            source.values["id"] = .integer(id)
        }
        return request(from: source, target: target, fields: fields)
    }

    /// Returns the request to this endpoint, with the templates in path and body replaced.
    ///
    /// A string that consists of one template takes the JSON type of the template's value.
    package func request(from source: NamedValues) -> HTTPMessage.Request {
        var source = source
        return request(from: source, target: source.fill(target: path), fields: [])
    }

    private func request(
        from source: NamedValues,
        target: String,
        fields: [HTTPMessage.Field]
    ) -> HTTPMessage.Request {
        var source = source
        let body = self.body.map { source.fill($0) }
        return HTTPMessage.Request(
            method,
            target,
            fields: fields
                + (body == nil ? [] : [HTTPMessage.Field("content-type", "application/json")]),
            body: body?.bytes ?? []
        )
    }
}

extension NamedValues {
    /// Marks every template of a place in a profile that has no value as absent, so that its field
    /// is omitted and no error is reported.
    package mutating func markMissing(_ slot: TemplateScope.ProfileSlot) {
        for word in slot.words where values[word.word] == nil { values[word.word] = .some(nil) }
    }
}

extension JSONValue {
    /// The name of the template when the JSON value is a string that consists of one template; nil
    /// for any other value.
    package var templateName: String? { string.flatMap { Template($0).wholeName } }

    /// The names of the templates in all strings of this JSON value.
    var templateNames: Set<String> {
        switch self {
        case .string(let text): Set(Template(text).names)
        case .object(let object):
            object.members.reduce(into: []) { names, member in
                names.formUnion(member.value.templateNames)
                names.formUnion(Template(member.key).names)
            }
        case .array(let elements):
            elements.reduce(into: []) { $0.formUnion($1.templateNames) }
        case .null, .bool, .number: []
        }
    }

    /// The locations of all strings in this JSON value that consist of one template, by the
    /// template's name.
    package var templatePointersInJSON: [String: JSONPointer] {
        var pointersByTemplateName: [String: JSONPointer] = [:]
        func search(_ value: JSONValue, _ pointer: JSONPointer) {
            switch value {
            case .string:
                if let name = value.templateName { pointersByTemplateName[name] = pointer }
            case .object(let object):
                for member in object.members { search(member.value, pointer.appending(member.key)) }
            case .array(let elements):
                for (index, element) in elements.enumerated() {
                    search(element, pointer.appending(String(index)))
                }
            case .null, .bool, .number: break
            }
        }
        search(self, JSONPointer())
        return pointersByTemplateName
    }
}

extension String {
    fileprivate var integer: Int64? { Int64(self) }
}
