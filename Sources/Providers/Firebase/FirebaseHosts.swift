internal import Conformance

/// Under which names Firebase Auth is reached, and what is asked there of no project.
extension FirebaseState {
    static let accessPrefix = "/oauth2.googleapis.com"
    private static let issuerHost = "securetoken.google.com"

    /// The API and token hosts as the emulator prefixes them, the issuer's, and the two of Google's
    /// that everybody shares: the key documents, and where a service account gets its access
    /// (fact sheet, sections 1 and 7.2).
    package static let hosts = [
        ServiceHost("identitytoolkit.googleapis.com", prefix: "/identitytoolkit.googleapis.com"),
        ServiceHost("securetoken.googleapis.com", prefix: "/securetoken.googleapis.com"),
        ServiceHost(issuerHost, prefix: "/" + issuerHost),
        ServiceHost(
            "www.googleapis.com",
            paths: [
                "/robot/v1/metadata/x509/securetoken", "/service_accounts/v1/jwk/securetoken",
                "/service_accounts/v1/metadata/jwk/securetoken", "/identitytoolkit/v3/",
            ],
            isOwn: false
        ),
        ServiceHost(
            "oauth2.googleapis.com",
            prefix: accessPrefix,
            paths: ["/token"],
            isOwn: false
        ),
    ]

    /// What the hosts answer that belong to no project: the issuer's description of itself, and access
    /// for a service account; nil when the path is none of theirs.
    func hostAnswer(
        _ segments: [String],
        _ request: HTTPMessage.Request
    ) -> HTTPMessage.Response? {
        if segments.count == 4, segments[0] == Self.issuerHost,
            segments[2...] == [".well-known", "openid-configuration"], request.method == "GET"
        {
            return HTTPMessage.Response(200, json: Self.issuer(of: segments[1]))
        }
        if "/" + segments[0] == Self.accessPrefix, segments.count == 2, request.method == "POST" {
            return access(request)
        }
        return nil
    }

    /// OpenID Connect Discovery 1.0, section 3, as far as it says where the keys are.
    private static func issuer(of project: String) -> JSONValue {
        [
            "issuer": .string("https://\(issuerHost)/\(project)"),
            "jwks_uri": .string(
                "https://www.googleapis.com/service_accounts/v1/jwk/"
                    + "securetoken@system.gserviceaccount.com"
            ),
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        ]
    }

    /// An access token for an assertion (RFC 7523, section 2.1) or a refresh token; who signed the
    /// assertion is not examined, for no backend under test holds a real account's key.
    private func access(_ request: HTTPMessage.Request) -> HTTPMessage.Response {
        func field(_ name: String) -> String? {
            request.form.first { $0.name == name && !$0.value.isEmpty }?.value
        }
        let isGranted =
            switch field("grant_type") {
            case "urn:ietf:params:oauth:grant-type:jwt-bearer":
                field("assertion")?.split(separator: ".").count == 3
            case "refresh_token": field("refresh_token") != nil
            default: Bool?.none
            }
        switch isGranted {
        case true?:
            return HTTPMessage.Response(
                200,
                json: [
                    "access_token": "ya29.assay", "expires_in": 3599, "token_type": "Bearer",
                ]
            )
        case false?:
            return HTTPMessage.Response(
                400,
                json: ["error": "invalid_grant", "error_description": "Invalid JWT."]
            )
        case nil:
            return HTTPMessage.Response(
                400,
                json: [
                    "error": "unsupported_grant_type",
                    "error_description": "Invalid grant_type: ",
                ]
            )
        }
    }
}
