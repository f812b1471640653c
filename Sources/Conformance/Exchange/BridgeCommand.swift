/// One command as the page assigned it, taken apart without losing anything (Despia fact sheet,
/// section 7.3).
package struct BridgeCommand: Hashable, Codable, Sendable {
    package struct Parameter: Hashable, Codable, Sendable {
        package let raw: String
        package let name: String
        package let value: String
    }

    /// What the page wrote, to the letter.
    package let text: String
    package let scheme: String
    /// Between `://` and the first `?`.
    package let path: String
    package let parameters: [Parameter]
    /// What a reader should know about the text: an odd escape, a parameter that stands twice.
    package let notes: [String]

    /// Commands whose remainder is no query (section 7.3, "Special syntaxes").
    private static let special: Set<String> = [
        "sendlocalpushmsg", "statusbarcolor", "statusbartextcolor", "shareapp", "file",
        "writevalue", "writehealthkit", "widget",
    ]

    /// How the native side decodes values; unproven, so it is a switch (section 5).
    package enum Decoding: String, Hashable, Codable, Sendable { case once, raw, plusAsSpace }

    package init(_ text: String, decoding: Decoding = .once) {
        self.text = text
        var notes: [String] = []
        guard let colon = Array(text.utf8).place(of: Self.colon) else {
            scheme = ""
            path = text
            parameters = []
            self.notes = ["no scheme"]
            return
        }
        scheme = String(decoding: text.utf8.prefix(colon), as: UTF8.self)
        let rest = Substring(text.utf8.dropFirst(colon + Self.colon.count))
        if !Self.schemes.contains(scheme) { notes.append("unknown scheme") }
        if scheme == "sendlocalpushmsg", let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            // Positional, separated by `&!#`: seconds and text, title, address.
            path = String(rest[..<mark])
            var found: [Parameter] = []
            let parts = Self.split(rest[rest.utf8.index(after: mark)...])
            for (index, part) in parts.enumerated() {
                let names = ["s and msg", "title", "url"]
                found.append(
                    Parameter(
                        raw: part,
                        name: names[min(index, 2)],
                        value: part
                    )
                )
            }
            parameters = found
            self.notes = notes
            return
        }
        guard !Self.special.contains(scheme),
            let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        else {
            path = String(rest)
            parameters = []
            self.notes = notes
            return
        }
        path = String(rest[..<mark])
        var found: [Parameter] = []
        let query = rest[rest.utf8.index(after: mark)...]
        for raw in query.parts(between: "&") {
            let parts = raw.cut(at: "=")
            if parts == nil {
                notes.append("a part without '=', perhaps a raw & in a value: '\(raw)'")
            }
            found.append(
                Parameter(
                    raw: raw,
                    name: parts?.before ?? raw,
                    value: Self.decoded(parts?.after ?? "", decoding)
                )
            )
        }
        for name in Set(found.map(\.name)).sorted()
        where found.filter({ $0.name == name }).count > 1 {
            notes.append("duplicate parameter '\(name)'")
        }
        if query.utf8.contains(UInt8(ascii: "#")) { notes.append("a raw # starts a fragment") }
        if query.contains(where: { $0 == " " || !$0.isASCII }) {
            notes.append("characters that are no part of a URL")
        }
        parameters = found
        self.notes = notes
    }

    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    private static func decoded(_ text: String, _ decoding: Decoding) -> String {
        switch decoding {
        case .raw: text
        case .once: FormText.decoded(text, plusIsBlank: false)
        case .plusAsSpace: FormText.decoded(text)
        }
    }

    private static let colon = Array("://".utf8)
    private static let separator = Array("&!#".utf8)

    /// Compares bytes, so that a megabyte takes no time and no letter joins a mark.
    private static func split(_ text: Substring) -> [String] {
        let bytes = Array(text.utf8)
        var parts: [String] = []
        var start = 0
        while let found = bytes.place(of: separator, from: start) {
            parts.append(String(decoding: bytes[start..<found], as: UTF8.self))
            start = found + separator.count
        }
        return parts + [String(decoding: bytes[start...], as: UTF8.self)]
    }

    /// The scheme of what is sold: paywalls, purchases, the customer's page (section 3).
    package static let sellingScheme = "revenuecat"

    /// The catalogue of section 3.
    package static let schemes: Set<String> = [
        "readvault", "setvault", "writevalue", "readvalue", "getpurchasehistory", sellingScheme,
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
