internal import Conformance
internal import Phone

/// What is found on a page, and done to it, by the selectors of the profile.
extension BrowserScenario {
    /// Why an element cannot be tapped; nil when it can, or when the page does not answer.
    ///
    /// An upgrade that nobody can see or press is a gate that is shut; what else is hidden is tapped
    /// all the same, because menus differ more than what their entries do.
    func obstacle(to selector: String, for tap: Tap, on page: BrowserPage) async -> String? {
        let found = await page.evaluate(
            "(function () { var found = document.querySelector(\(Self.quoted(selector))); "
                + "return found === null ? 'absent' : found.disabled ? 'disabled' : "
                + "found.checkVisibility({opacityProperty: true, visibilityProperty: true}) "
                + "? 'there' : 'hidden'; })()"
        )
        return switch found?.string {
        case "absent": selector
        case "hidden" where tap == .upgrade: "\(selector) (it is hidden)"
        case "disabled" where tap == .upgrade: "\(selector) (it is disabled)"
        default: nil
        }
    }

    /// Whether an element is on the page, seen or not; nil: that is no selector.
    func finds(_ selector: String, on page: BrowserPage) async -> Bool {
        await survey([selector], on: page)?.first == .there
    }

    /// What becomes of each of these selectors; nil when the page does not answer.
    func survey(_ selectors: [String], on page: BrowserPage) async -> [AppPreflight.Found]? {
        let list = JSONValue.array(selectors.map(JSONValue.string)).text
        let found = await page.evaluate(
            "(function (list) { return JSON.stringify(list.map(function (selector) { "
                + "try { var found = document.querySelector(selector); "
                + "return found === null ? 'absent' : found.checkVisibility("
                + "{opacityProperty: true, visibilityProperty: true}) ? 'there' : 'hidden'; } "
                + "catch (error) { return 'invalid'; } })); })(\(list))"
        )
        let answers = found?.string.flatMap { try? JSONValue(parsing: $0) }?.array
        return answers?.map { AppPreflight.Found(rawValue: $0.string ?? "") ?? .absent }
    }

    /// Waits for an element that a tap before may have brought.
    func comes(_ selector: String, on page: BrowserPage) async -> Bool {
        let patience = Patience(.microseconds(Self.reaction), setting.heartbeat, clock)
        while !Task.isCancelled {
            if await finds(selector, on: page) { return true }
            if patience.isOver { return false }
            await clock.pause(.milliseconds(15))
        }
        return false
    }

    /// What could be tapped on a page, as selectors that a person would write.
    func tappable(on page: BrowserPage) async -> [String] {
        let found = await page.evaluate(
            "JSON.stringify(Array.prototype.slice.call(document.querySelectorAll("
                + "'button, [role=button], a, input[type=submit], input[type=button]'), 0, 12)"
                + ".map(function (found) { return found.id ? '#' + found.id : "
                + "found.getAttribute('data-testid') ? '[data-testid=\"' + "
                + "found.getAttribute('data-testid') + '\"]' : found.tagName.toLowerCase() + "
                + "(found.className && found.className.split ? '.' + "
                + "found.className.trim().split(/\\s+/).join('.') : '') + ' (\"' + "
                + "(found.textContent || '').trim().slice(0, 20) + '\")'; }))"
        )
        let list = found?.string.flatMap { try? JSONValue(parsing: $0) }
        return (list?.array ?? []).compactMap(\.string)
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
