/// A command URL that an app's page assigned to `window.despia`, split into its parts without
/// losing any text.
///
/// Source: Despia fact sheet, section 7.3.
package struct BridgeCommand: Hashable, Codable, Sendable {
    package struct Parameter: Hashable, Codable, Sendable {
        package let raw: String
        package let name: String
        package let value: String
    }

    /// The command exactly as the page wrote it.
    package let text: String
    package let scheme: String
    /// The part of the command between `://` and the first `?`; empty for `setvault://?key=id`.
    package let path: String
    package let parameters: [Parameter]
    /// Notes for readers about unusual syntax of the command, such as an unknown scheme or a
    /// duplicate parameter.
    package let notes: [String]

    /// Schemes of commands whose remainder is not a query string (Despia fact sheet, section 7.3,
    /// "Special syntaxes").
    private static let nonQuerySchemes: Set<String> = [
        "sendlocalpushmsg", "statusbarcolor", "statusbartextcolor", "shareapp", "file",
        "writevalue", "writehealthkit", "widget",
    ]

    /// The way in which the native side of the app percent-decodes the values of a command.
    ///
    /// The real behavior has not been verified on a device, so a test can choose it (Despia fact
    /// sheet, section 5).
    package enum Decoding: String, Hashable, Codable, Sendable { case once, raw, plusAsSpace }

    package init(_ text: String, decoding: Decoding = .once) {
        self.text = text
        guard let schemeSeparator = Array(text.utf8).position(of: Self.schemeSeparator) else {
            scheme = ""
            path = text
            parameters = []
            notes = ["no scheme"]
            return
        }
        scheme = String(decoding: text.utf8.prefix(schemeSeparator), as: UTF8.self)
        let schemeNotes = Self.schemes.contains(scheme) ? [] : ["unknown scheme"]
        let textAfterScheme = Substring(
            text.utf8.dropFirst(schemeSeparator + Self.schemeSeparator.count)
        )
        let hasPositionalParameters = scheme == "sendlocalpushmsg"
        guard hasPositionalParameters || !Self.nonQuerySchemes.contains(scheme),
            let queryStart = textAfterScheme.utf8.firstIndex(of: UInt8(ascii: "?"))
        else {
            path = String(textAfterScheme)
            parameters = []
            notes = schemeNotes
            return
        }
        path = String(textAfterScheme[..<queryStart])
        let query = textAfterScheme[textAfterScheme.utf8.index(after: queryStart)...]
        if hasPositionalParameters {
            parameters = Self.positionalParameters(query)
            notes = schemeNotes
        } else {
            parameters = Self.queryParameters(query, decoding)
            notes = schemeNotes + Self.notes(query, parameters)
        }
    }

    /// Returns up to three positional parameters separated by `&!#`: the seconds together with the
    /// message, the title, and the URL.
    private static func positionalParameters(_ query: Substring) -> [Parameter] {
        let names = ["s and msg", "title", "url"]
        return splitPositionalParameters(query).enumerated().map { index, part in
            Parameter(raw: part, name: names[min(index, 2)], value: part)
        }
    }

    private static func queryParameters(_ query: Substring, _ decoding: Decoding) -> [Parameter] {
        query.parts(between: "&").map { raw in
            let parts = raw.cut(at: "=")
            return Parameter(
                raw: raw,
                name: parts?.before ?? raw,
                value: decoded(parts?.after ?? "", decoding)
            )
        }
    }

    /// Returns notes about unusual syntax of a query.
    private static func notes(_ query: Substring, _ parameters: [Parameter]) -> [String] {
        var notes = parameters.filter { $0.raw.cut(at: "=") == nil }.map {
            "a part without '=', perhaps from an unescaped & in a value: '\($0.raw)'"
        }
        for name in Set(parameters.map(\.name)).sorted()
        where parameters.filter({ $0.name == name }).count > 1 {
            notes.append("duplicate parameter '\(name)'")
        }
        if query.utf8.contains(UInt8(ascii: "#")) {
            notes.append("an unescaped # starts a fragment")
        }
        if query.contains(where: { $0 == " " || !$0.isASCII }) {
            notes.append("characters that a URL cannot contain")
        }
        return notes
    }

    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    private static func decoded(_ text: String, _ decoding: Decoding) -> String {
        switch decoding {
        case .raw: text
        case .once: FormText.decoded(text, decodesPlusAsSpace: false)
        case .plusAsSpace: FormText.decoded(text)
        }
    }

    private static let schemeSeparator = Array("://".utf8)
    private static let positionalParameterSeparator = Array("&!#".utf8)

    /// Splits the parameters of a command at each `&!#` by comparing bytes.
    ///
    /// A comparison of bytes is fast for a command of a megabyte. It also finds a separator that is
    /// followed by a combining mark.
    private static func splitPositionalParameters(_ text: Substring) -> [String] {
        let bytes = Array(text.utf8)
        var parts: [String] = []
        var partStart = 0
        while let found = bytes.position(of: positionalParameterSeparator, from: partStart) {
            parts.append(String(decoding: bytes[partStart..<found], as: UTF8.self))
            partStart = found + positionalParameterSeparator.count
        }
        return parts + [String(decoding: bytes[partStart...], as: UTF8.self)]
    }

    /// The scheme of all commands about sales: paywalls, purchases, the customer center (Despia
    /// fact sheet, section 3).
    package static let purchaseCommandScheme = "revenuecat"

    /// The schemes of all known commands (Despia fact sheet, section 3).
    package static let schemes: Set<String> = [
        "readvault", "setvault", "writevalue", "readvalue", "getpurchasehistory",
        purchaseCommandScheme,
        "restoreinapppurchases", "cancelinapppurchase", "setonesignalplayerid",
        "getonesignalplayerid", "registerpush", "checkNativePushPermissions", "sendlocalpushmsg",
        "settingsapp", "get-uuid", "getappversion", "getstorelocation", "user-disable-tracking",
        "getclipboard", "requestcontactpermission", "readcontacts", "lighthaptic", "heavyhaptic",
        "successhaptic", "warninghaptic", "errorhaptic", "spinneron", "spinneroff", "hidebars",
        "statusbarcolor", "statusbartextcolor", "scanningmode", "takescreenshot", "savethisimage",
        "file", "shareapp", "reset", "oauth", "widget", "bioauth", "biometric", "location",
        "stoplocation", "backgroundlocationon", "backgroundlocationoff", "readhealthkit",
        "writehealthkit", "healthkit", "gyroscope", "speechrecognition", "bluetooth", "camera",
        "nearby", "vision", "appsflyer", "stripe", "admob", "displayrewardedad", "enableads",
        "disableads", "localcdn", "intelligence", "pagesheet",
    ]
}
