extension Profile {
    /// Where the body of an endpoint holds each of the usual values, by the value's name.
    package func places(in endpoint: String) -> [String: JSONPointer] {
        endpoints[endpoint]?.body.map(\.templatePlaces) ?? [:]
    }
}

extension Profile.Endpoint {
    /// The request that this endpoint is sent: path and body with their names replaced.
    ///
    /// - Parameters:
    ///   - values: What the names stand for; a member that holds a name without value is left out.
    ///   - idForm: A backend with integer ids gets them as numbers where one stands alone.
    ///   - fields: Header fields beside the content type.
    /// - Returns: The request, with a JSON body where the endpoint has one.
    package func request(
        _ values: [String: String?],
        idForm: Profile.IDForm,
        fields: [HTTPMessage.Field] = []
    ) -> HTTPMessage.Request {
        var source = NamedValues(texts: values)
        // A name that this route's values do not have stands for nothing here.
        for name in Call.valueNames + ["account"] where source.values[name] == nil {
            source.values[name] = .some(nil)
        }
        let target = source.fill(target: path)
        if idForm == .integer, let id = values["id"]??.integer {
            source.values["id"] = .integer(id)
        }
        return request(from: source, target: target, fields: fields)
    }

    /// The request with its names replaced by values, each of which keeps its kind where it stands
    /// alone.
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

extension JSONValue {
    /// The name that a text is made of and nothing else; nil for any other value.
    package var templateName: String? { string.flatMap { Template($0).wholeName } }

    /// Where each name stands that is a text of its own, by the name.
    package var templatePlaces: [String: JSONPointer] {
        var places: [String: JSONPointer] = [:]
        func search(_ value: JSONValue, _ pointer: JSONPointer) {
            switch value {
            case .string: if let name = value.templateName { places[name] = pointer }
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
        return places
    }
}

extension String {
    fileprivate var integer: Int64? { Int64(self) }
}
