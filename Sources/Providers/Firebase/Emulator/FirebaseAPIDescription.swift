internal import Values

/// The API description that the emulator publishes.
enum FirebaseAPIDescription {
    /// The OpenAPI document, built from the table of operations.
    static let document: JSONValue = {
        let responseFields: JSONValue = [
            "responses": ["200": ["description": "the service's response"]]
        ]
        var paths: [String: JSONObject] = [:]
        for row in FirebaseOperation.table.rows {
            let isTokenEndpoint = row.operation?.isTokenEndpoint == true
            let host =
                isTokenEndpoint ? "/securetoken.googleapis.com" : "/identitytoolkit.googleapis.com"
            paths[host + row.path, default: JSONObject()][row.method.lowercased()] = responseFields
        }
        return [
            "openapi": "3.0.0",
            "info": ["title": "Fake Firebase Auth", "version": "1"],
            "paths": .object(
                JSONObject(
                    members: paths.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: .object($0.value))
                    }
                )
            ),
        ]
    }()
}
