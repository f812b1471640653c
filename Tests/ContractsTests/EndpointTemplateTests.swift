import Contracts
import Grammar
internal import Providers
import Testing
import Values

/// What were copies of the engine give one value now.
@Suite("One engine")
struct EndpointTemplateTests {
    private let values: [String: String?] = [
        "id": "a/b", "device": "D", "platform": "ios", "source": "new", "timestamp": "T",
        "proof": nil,
    ]

    @Test func `a member without a value is omitted, and a literal null is kept`() {
        var endpoint = Profile.Endpoint(
            method: "POST",
            path: "/u/{{id}}",
            body: [
                "id": "{{id}}", "proof": "{{proof}}", "none": .null, "text": "p:{{proof}}",
                "account": "{{account}}", "list": ["{{proof}}", "{{device}}"], "{{platform}}": 1,
            ]
        )
        let request = endpoint.request(values, idForm: .string)
        #expect(request.target == "/u/a%2Fb")
        #expect(
            (try? JSONValue(parsing: request.body))
                == ["id": "a/b", "none": .null, "list": [.null, "D"], "ios": 1]
        )
        endpoint.path = "/u/{{account}}"
        #expect(endpoint.request(values, idForm: .string).target == "/u/")
    }

    @Test func `a backend with integer ids gets them as numbers`() {
        let endpoint = Profile.Endpoint(method: "POST", path: "/u", body: ["id": "{{id}}"])
        let request = endpoint.request(["id": "42"], idForm: .integer)
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"id":42}"#)
    }

    @Test func `a place in a body is found by its name, however it is spelt`() {
        let body: JSONValue = ["a": ["b": ["{{ id }}"]], "c": "x{{device}}", "d": "{{proof}}"]
        #expect(
            body.templatePointersInJSON == [
                "id": JSONPointer(tokens: ["a", "b", "0"]), "proof": JSONPointer(tokens: ["d"]),
            ]
        )
        var profile = Profile()
        profile.endpoints["login"] = Profile.Endpoint(method: "POST", path: "/l", body: body)
        #expect(
            profile.pointersByTemplateName(in: "login")["id"]
                == JSONPointer(tokens: ["a", "b", "0"])
        )
        #expect(Profile().allSecretNames == ["deviceId", "deviceToken", "deviceToken", "password"])
    }
}
