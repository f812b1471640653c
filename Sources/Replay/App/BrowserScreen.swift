internal import Conformance
internal import Phone

/// What is found on a page, and done to it, by the selectors of the profile.
extension BrowserScenario {
    /// Whether an element is there to be tapped; nil when the page does not answer.
    ///
    /// An upgrade that nobody can see or press is a gate that is shut.
    func isThere(_ selector: String, for tap: Tap, on page: BrowserPage) async -> Bool? {
        let test =
            tap == .upgrade
            ? "found.checkVisibility({opacityProperty: true, visibilityProperty: true}) "
                + "&& !found.disabled" : "true"
        let found = await page.evaluate(
            "(function () { var found = document.querySelector(\(Self.quoted(selector))); "
                + "return found !== null && \(test); })()"
        )
        return found.map { $0 != false }
    }

    /// A script that taps an element, if it is there.
    static func clicking(_ selector: String) -> String {
        "(function () { var found = document.querySelector(\(quoted(selector))); "
            + "if (found) found.click(); return found !== null; })()"
    }

    /// Fills in what the profile names: `account` and `password`.
    func fill(_ values: [String: String], on page: BrowserPage?) async {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let selector = profile.app.inputs[name] else { continue }
            // Frameworks listen to the setter of the element's own class.
            _ = await page?.evaluate(
                "(function () { var found = document.querySelector(\(Self.quoted(selector))); "
                    + "if (!found) return false; Object.getOwnPropertyDescriptor("
                    + "Object.getPrototypeOf(found), 'value').set.call(found, "
                    + "\(Self.quoted(value))); "
                    + "found.dispatchEvent(new Event('input', {bubbles: true})); "
                    + "found.dispatchEvent(new Event('change', {bubbles: true})); return true; })()"
            )
        }
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).text }

    /// What the page shows of what the profile names; nil when it does not answer.
    func screen(_ page: BrowserPage) async -> JSONValue? {
        let selectors = JSONObject(
            members: profile.app.shows.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                .init(key: $0.key.rawValue, value: .string($0.value))
            }
        )
        let found = await page.evaluate(
            "(function (names) { var shown = {}; Object.keys(names).forEach(function (name) { "
                + "var element = document.querySelector(names[name]); "
                + "var isVisible = !!element && element.getClientRects().length > 0 && "
                + "element.checkVisibility({opacityProperty: true, visibilityProperty: true}); "
                + "shown[name] = isVisible ? (element.textContent || '').trim() : null; }); "
                + "return JSON.stringify(shown); })(\(JSONValue.object(selectors).text))"
        )
        guard let text = found?.string, let shown = try? JSONValue(parsing: text) else {
            return nil
        }
        var result = JSONObject()
        for member in shown.object?.members ?? [] {
            switch AppExpectation.Screen.Element(rawValue: member.key) {
            case .loading, .access, .error: result[member.key] = .bool(!member.value.isNull)
            case .status: result[member.key] = status(member.value)
            case .product:
                let text = member.value.string ?? ""
                let named = profile.app.productNames.first { text.contains($0.value) }
                result[member.key] = named.map { .string($0.key) } ?? member.value
            case nil: result[member.key] = member.value
            }
        }
        return .object(result)
    }

    /// What the page's words mean: `active`, `none`, or that it is not known.
    private func status(_ value: JSONValue) -> JSONValue {
        guard let text = value.string?.lowercased() else { return .null }
        for name in ["none", "active"]
        where profile.app.statusWords[name]?.contains(where: { text.contains($0.lowercased()) })
            ?? false
        {
            return .string(name)
        }
        return "unknown"
    }
}
