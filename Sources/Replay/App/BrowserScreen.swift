internal import Contracts
internal import Phone
internal import Values

/// Finds, reads and operates the elements of a page with the CSS selectors in the profile.
struct BrowserScreen: Sendable {
    let page: BrowserPage
    let app: Profile.App
    let configuration: BrowserScenario.Configuration

    /// Returns the reason why an element cannot be tapped; nil if it can be, or if the page does
    /// not respond.
    ///
    /// An upgrade button that is hidden or disabled counts as locked. Other hidden elements, such
    /// as the entries of a closed menu, are tapped anyway. Apps open their menus in very different
    /// ways, but the menu entries have the same effects.
    func skipReason(to selector: String, for tap: Tap) async -> String? {
        let returnValue = await page.evaluate(
            "(function () { var found = document.querySelector(\(Self.javaScriptString(selector))); "
                + "return found === null ? 'absent' : found.disabled ? 'disabled' : "
                + "found.checkVisibility({opacityProperty: true, visibilityProperty: true}) "
                + "? 'there' : 'hidden'; })()"
        )
        return switch returnValue?.string {
        case "absent": selector
        case "hidden" where tap == .upgrade: "\(selector) (it is hidden)"
        case "disabled" where tap == .upgrade: "\(selector) (it is disabled)"
        default: nil
        }
    }

    /// Returns whether a CSS selector matches an element that is visible on the page.
    func isVisible(_ selector: String) async -> Bool {
        await elementStates([selector])?.first == .there
    }

    /// Looks up each of these CSS selectors on the page; nil if the page does not respond.
    func elementStates(_ selectors: [String]) async -> [AppPreflight
        .ElementState]?
    {
        let selectorList = JSONValue.array(selectors.map(JSONValue.string)).text
        let returnValue = await page.evaluate(
            "(function (list) { return JSON.stringify(list.map(function (selector) { "
                + "try { var found = document.querySelector(selector); "
                + "return found === null ? 'absent' : found.checkVisibility("
                + "{opacityProperty: true, visibilityProperty: true}) ? 'there' : 'hidden'; } "
                + "catch (error) { return 'invalid'; } })); })(\(selectorList))"
        )
        let stateValues = returnValue?.string.flatMap { JSONValue(ifValid: $0) }?.array
        return stateValues?.map { AppPreflight.ElementState(rawValue: $0.string ?? "") ?? .absent }
    }

    /// Waits for an element that appears only after an earlier tap, and returns whether it
    /// appeared.
    func waitForElement(_ selector: String) async -> Bool {
        let settleTimeout = SettleTimeout(
            .microseconds(BrowserScenario.reactionLimit),
            configuration.heartbeat,
            configuration.clock
        )
        while !Task.isCancelled {
            if await isVisible(selector) { return true }
            if settleTimeout.isOver { return false }
            await configuration.clock.pause(.milliseconds(15))
        }
        return false
    }

    /// Returns the elements of the page that can be tapped, as CSS selectors that a person would
    /// write.
    func tappableElements() async -> [String] {
        let returnValue = await page.evaluate(
            "JSON.stringify(Array.prototype.slice.call(document.querySelectorAll("
                + "'button, [role=button], a, input[type=submit], input[type=button]'), 0, 12)"
                + ".map(function (found) { return found.id ? '#' + found.id : "
                + "found.getAttribute('data-testid') ? '[data-testid=\"' + "
                + "found.getAttribute('data-testid') + '\"]' : found.tagName.toLowerCase() + "
                + "(found.className && found.className.split ? '.' + "
                + "found.className.trim().split(/\\s+/).join('.') : '') + ' (\"' + "
                + "(found.textContent || '').trim().slice(0, 20) + '\")'; }))"
        )
        let selectorList = returnValue?.string.flatMap { JSONValue(ifValid: $0) }
        return (selectorList?.array ?? []).compactMap(\.string)
    }

    /// Returns a JavaScript expression that taps an element if it is on the page.
    static func clickExpression(_ selector: String) -> String {
        "(function () { var found = document.querySelector(\(javaScriptString(selector))); "
            + "if (found) found.click(); return found !== null; })()"
    }

    /// Fills in the input fields for which the profile has selectors: `account` and `password`.
    func fill(_ values: [String: String]) async {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let selector = app.inputSelectors[name] else { continue }
            // Web frameworks notice a new value only if it is set with the setter of the element's
            // class.
            _ = await page.evaluate(
                "(function () { var found = document.querySelector(\(Self.javaScriptString(selector))); "
                    + "if (!found) return false; Object.getOwnPropertyDescriptor("
                    + "Object.getPrototypeOf(found), 'value').set.call(found, "
                    + "\(Self.javaScriptString(value))); "
                    + "found.dispatchEvent(new Event('input', {bubbles: true})); "
                    + "found.dispatchEvent(new Event('change', {bubbles: true})); return true; })()"
            )
        }
    }

    private static func javaScriptString(_ text: String) -> String { JSONValue.string(text).text }

    /// Returns the contents of the page elements for which the profile has selectors.
    ///
    /// Returns nil if the page does not respond.
    func content() async -> JSONValue? {
        let selectors = JSONObject(
            members: app.elementSelectors.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                .init(key: $0.key.rawValue, value: .string($0.value))
            }
        )
        let returnValue = await page.evaluate(
            "(function (names) { var shown = {}; Object.keys(names).forEach(function (name) { "
                + "var element = document.querySelector(names[name]); "
                + "var isVisible = !!element && element.getClientRects().length > 0 && "
                + "element.checkVisibility({opacityProperty: true, visibilityProperty: true}); "
                + "shown[name] = isVisible ? (element.textContent || '').trim() : null; }); "
                + "return JSON.stringify(shown); })(\(JSONValue.object(selectors).text))"
        )
        guard let text = returnValue?.string, let screenContent = JSONValue(ifValid: text)
        else {
            return nil
        }
        var screenObject = JSONObject()
        for member in screenContent.object?.members ?? [] {
            switch AppExpectation.Screen.Element(rawValue: member.key) {
            case .loading, .access, .error: screenObject[member.key] = .bool(!member.value.isNull)
            case .status: screenObject[member.key] = status(member.value)
            case .product:
                let text = member.value.string ?? ""
                let productEntry = app.productNames.first { text.contains($0.value) }
                screenObject[member.key] = productEntry.map { .string($0.key) } ?? member.value
            case nil: screenObject[member.key] = member.value
            }
        }
        return .object(screenObject)
    }

    /// Translates the text of the page's status element into `active`, `none` or `unknown`.
    private func status(_ value: JSONValue) -> JSONValue {
        guard let text = value.string?.lowercased() else { return .null }
        for name in ["none", "active"]
        where app.statusWords[name]?.contains(where: { text.contains($0.lowercased()) })
            ?? false
        {
            return .string(name)
        }
        return "unknown"
    }
}
