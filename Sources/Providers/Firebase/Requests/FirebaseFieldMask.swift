internal import Values

/// Field masks of the Firebase API: lists of paths that name the members to change.
extension JSONObject {
    /// The largest number of names in one path of a field mask, such as `mfaConfig.state`.
    ///
    /// No configuration is nested deeper.
    private static let maskDepthMax = 8

    /// Copies members from the body of a request.
    ///
    /// A field mask names the members by paths such as `mfaConfig.state`. A member that the body
    /// lacks is removed.
    mutating func copyFields(_ paths: [String], from body: JSONObject) throws(FirebaseError) {
        for path in paths {
            let maskFieldNames = path.split(separator: ".").map(String.init)
            guard maskFieldNames.count <= Self.maskDepthMax else {
                throw .invalidArgument("Invalid value at 'update_mask': \(path.prefix(100))")
            }
            copyFields(maskFieldNames[...], from: .object(body))
        }
    }

    private mutating func copyFields(_ path: ArraySlice<String>, from body: JSONValue?) {
        guard let name = path.first else { return }
        let value = body?[name]
        guard path.count > 1 else {
            self[name] = value.flatMap { $0.isNull ? nil : $0 }
            return
        }
        var nestedObject = self[name]?.object ?? JSONObject()
        nestedObject.copyFields(path.dropFirst(), from: value)
        self[name] = .object(nestedObject)
    }
}
