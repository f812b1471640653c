internal import Values

/// The host names of Firebase Auth, and the requests to them that do not concern the accounts of a
/// project.
enum FirebaseHosts {
    static let accessTokenHostPrefix = "/oauth2.googleapis.com"
    private static let issuerHost = "securetoken.google.com"

    /// The hosts that the fake imitates.
    ///
    /// These are the hosts of the API and of the token service, with the prefixes that the Firebase
    /// emulator uses. The list also contains the host of the token issuer.
    ///
    /// Other Google services share two of the hosts: one for key documents, and one for the access
    /// tokens of service accounts. Source: Firebase fact sheet, sections 1 and 7.2.
    static let all = [
        ServiceHost(
            "identitytoolkit.googleapis.com",
            pathPrefix: "/identitytoolkit.googleapis.com"
        ),
        ServiceHost("securetoken.googleapis.com", pathPrefix: "/securetoken.googleapis.com"),
        ServiceHost(issuerHost, pathPrefix: "/" + issuerHost),
        ServiceHost(
            "www.googleapis.com",
            pathPrefixes: [
                "/robot/v1/metadata/x509/securetoken", "/service_accounts/v1/jwk/securetoken",
                "/service_accounts/v1/metadata/jwk/securetoken", "/identitytoolkit/v3/",
            ],
            isExclusive: false
        ),
        ServiceHost(
            "oauth2.googleapis.com",
            pathPrefix: accessTokenHostPrefix,
            pathPrefixes: ["/token"],
            isExclusive: false
        ),
    ]

    /// Responds to requests for the discovery document of the token issuer, and for access tokens
    /// of a service account.
    ///
    /// Returns nil for any other path.
    static func response(
        _ segments: [String],
        _ request: HTTPMessage.Request
    ) -> HTTPMessage.Response? {
        if segments.count == 4, segments[0] == issuerHost,
            segments[2...] == [".well-known", "openid-configuration"], request.method == "GET"
        {
            return HTTPMessage.Response(200, json: issuerDocument(of: segments[1]))
        }
        if "/" + segments[0] == accessTokenHostPrefix, segments.count == 2,
            request.method == "POST"
        {
            return accessTokenResponse(request)
        }
        return nil
    }

    /// Returns the discovery document of the token issuer.
    ///
    /// It contains the members of OpenID Connect Discovery 1.0, section 3, that a client needs to
    /// find the keys.
    private static func issuerDocument(of project: String) -> JSONValue {
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

    /// Issues an access token in exchange for a signed assertion (RFC 7523, section 2.1) or for a
    /// refresh token.
    ///
    /// The signature of the assertion is not checked, because a backend under test has no key of a
    /// real account.
    private static func accessTokenResponse(_ request: HTTPMessage.Request) -> HTTPMessage.Response
    {
        func formField(_ name: String) -> String? {
            request.form.first { $0.name == name && !$0.value.isEmpty }?.value
        }
        let isGranted =
            switch formField("grant_type") {
            case "urn:ietf:params:oauth:grant-type:jwt-bearer":
                formField("assertion")?.split(separator: ".").count == 3
            case "refresh_token": formField("refresh_token") != nil
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
