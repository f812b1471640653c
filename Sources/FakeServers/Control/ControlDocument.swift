internal import Providers
internal import Values

/// Creates the OpenAPI 3.1 document of the control API.
extension [ControlRoute] {
    func openAPIDocument(version: String) -> JSONValue {
        var pathItems: [(path: String, operations: JSONObject)] = []
        for route in self {
            let path = "/assay/v1" + route.displayPath
            let method = route.method.lowercased()
            if let index = pathItems.firstIndex(where: { $0.path == path }) {
                pathItems[index].operations[method] = route.operation
            } else {
                pathItems.append((path, [method: route.operation]))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Assay control API", "version": .string(version),
                "description": .string(
                    "Controls the fakes of `assay serve`: the store, the clock, faults and "
                        + "devices. Shows the journal of all exchanges."
                ),
            ],
            "paths": .object(
                JSONObject(
                    members: pathItems.map { .init(key: $0.path, value: .object($0.operations)) }
                )
            ),
            "components": [
                "schemas": [
                    "Error": [
                        "type": "object", "required": ["error"],
                        "properties": [
                            "error": ["type": "string"], "hint": ["type": "string"],
                        ],
                    ]
                ]
            ],
        ]
    }
}

extension ControlRoute {
    fileprivate var operation: JSONValue {
        var operation: JSONObject = [
            "operationId": .string(id), "summary": .string(summary),
            "parameters": .array(pathParameters + queryParameters),
        ]
        if !members.isEmpty { operation["requestBody"] = requestBody }
        let isStream =
            switch handler {
            case .lines: true
            case .response: false
            }
        let mediaType = isStream ? "application/x-ndjson" : "application/json"
        let responseContent = JSONValue.object([mediaType: ["schema": ["type": "object"]]])
        let errorResponse: JSONValue = [
            "description": "The error, and how to correct the call.",
            "content": [
                "application/json": ["schema": ["$ref": "#/components/schemas/Error"]]
            ],
        ]
        operation["responses"] = [
            "200": ["description": .string(summary), "content": responseContent],
            "400": errorResponse,
            "403": errorResponse, "404": errorResponse,
        ]
        return .object(operation)
    }

    private var pathParameters: [JSONValue] {
        displayPath.split(separator: "/").filter { $0.hasPrefix("{") }.map { part in
            [
                "name": .string(String(part.dropFirst().dropLast())), "in": "path",
                "required": true, "schema": pathSchema,
            ]
        }
    }

    /// The JSON schema of the path variable: any string, or one of several words with a description
    /// of each.
    private var pathSchema: JSONValue {
        guard !pathValues.isEmpty else { return ["type": "string"] }
        let pathValueSchemas = pathValues.map { word -> JSONValue in
            ["const": .string(word.name), "description": .string(word.summary)]
        }
        return ["type": "string", "oneOf": .array(pathValueSchemas)]
    }

    private var queryParameters: [JSONValue] {
        let namespace = ControlParameter(
            "namespace",
            "The namespace of the call; if it is missing, the default namespace is used."
        )
        return (takesNamespace ? parameters + [namespace] : parameters).map { parameter in
            [
                "name": .string(parameter.name), "in": "query",
                "description": .string(parameter.summary), "schema": ["type": "string"],
            ]
        }
    }

    private var requestBody: JSONValue {
        let properties = JSONObject(
            members: members.map { .init(key: $0.name, value: $0.schema) }
        )
        return [
            "content": [
                "application/json": [
                    "schema": ["type": "object", "properties": .object(properties)]
                ]
            ]
        ]
    }
}
