import Contracts
import Testing
import Values

@testable import Replay

/// What places of an answer mean is told by what a purchase changed in them.
@Suite("Response survey")
struct ResponseSurveyTests {
    private static let periodEnd = Instant(milliseconds: 1_790_000_000_000)
    private static let purchase = ResponseSurvey.Purchase(
        product: "premium_monthly",
        periodEnd: periodEnd
    )

    private static func readings(_ before: JSONValue?, _ after: JSONValue) -> [String: String] {
        texts(ResponseSurvey(before: before, after: after, purchase))
    }

    /// The readings of a survey as text, by field.
    private static func texts(_ survey: ResponseSurvey) -> [String: String] {
        survey.readings.mapValues { reading in
            reading.conditions.map(text).joined(separator: " and ")
        }
    }

    /// Returns one condition of a reading as text.
    private static func text(_ reading: Profile.FieldReading) -> String {
        let meaning =
            switch reading.meaning {
            case .value: ""
            case .isOneOf(let values): " is \(JSONValue.array(values).text)"
            case .isNoneOf(let values): " not \(JSONValue.array(values).text)"
            case .isFuture: " after now"
            }
        return reading.pointer.description + meaning
            + (reading.valueIfPathAbsent.map { " absent \($0.text)" } ?? "")
    }

    @Test func `values identify product and expiry, names identify flags`() {
        let found = Self.readings(
            ["isPremium": false, "sku": .null, "until": .null, "willRenew": false],
            [
                "isPremium": true, "sku": "premium_monthly", "until": 1_790_000_000_000,
                "willRenew": true, "billing_issue": false, "refunded": false,
                "environment": "SANDBOX", "updated": 1_780_000_000_000, "coins": 3,
            ]
        )
        #expect(
            found == [
                "access": "/isPremium", "product": "/sku", "expires": "/until",
                "will-renew": "/willRenew", "billing-issue": "/billing_issue absent false",
                "refunded": "/refunded absent false", "environment": "/environment absent null",
            ]
        )
    }

    private static let ends2: [(JSONValue, Bool)] = [
        (1_790_000_000, true), (1_790_000_000_000, true), (.string(periodEnd.description), true),
        (1_790_000_002, false), ("soon", false),
    ]

    @Test("an expiry has many spellings", arguments: ends2)
    func end(value: JSONValue, isEnd: Bool) {
        let found = Self.readings(["x": .null], ["x": value])
        #expect((found["expires"] == "/x") == isEnd)
    }

    @Test func `a level means access if it is not the free one, a status if it is an active word`()
    {
        #expect(
            Self.readings(["s": ["tier": "free"]], ["s": ["tier": "pro"]])["access"]
                == "/s/tier not [\"free\",null]"
        )
        #expect(
            Self.readings(["status": "none"], ["status": "active"])["access"]
                == "/status is [\"active\"]"
        )
        let survey = ResponseSurvey(
            before: ["status": "none"],
            after: ["status": "active"],
            Self.purchase
        )
        #expect(survey.doubtsByField["access"] != nil)
        // Two words that say nothing of a purchase.
        #expect(Self.readings(["status": "a"], ["status": "b"])["access"] == nil)
    }

    @Test func `a flag that was true before the purchase is not access`() {
        #expect(Self.readings(["premium": true], ["premium": true])["access"] == nil)
        for name in ["trial", "has_held_paid_entitlement", "wasOncePremium", "everSubscribed"] {
            #expect(Self.readings([name: false], [name: true])["access"] == nil, "\(name)")
            #expect(Self.readings([name: 0], [name: 1])["access"] == nil, "\(name)")
        }
        #expect(
            Self.readings(["is_premium": 0], ["is_premium": 1])["access"] == "/is_premium is [1]"
        )
        #expect(Self.readings(["coins": 0], ["coins": 1])["access"] == nil)
        #expect(
            Self.readings(["seen": false, "active": false], ["seen": true, "active": true])[
                "access"
            ]
                == "/active"
        )
    }

    @Test func `a field outside of lists comes before one in a list`() {
        let list: JSONValue = [["active": true, "sku": "premium_monthly"]]
        #expect(
            Self.readings(["active": false, "passes": []], ["passes": list, "active": true]) == [
                "access": "/active"
            ]
        )
        #expect(
            Self.readings(["tier": "free", "passes": []], ["passes": list, "tier": "gold"]) == [
                "access": "/tier not [\"free\",null]"
            ]
        )
        // The list that shows the access also shows the other fields.
        let other: JSONValue = [["until": 1_790_000_000]]
        #expect(
            Self.readings(["passes": [], "rows": []], ["passes": list, "rows": other]) == [
                "access": "/passes/active=true/active absent false",
                "product": "/passes/0/sku absent null",
            ]
        )
    }

    private static let pro = ResponseSurvey.Purchase(
        product: "premium_monthly",
        periodEnd: periodEnd,
        entitlements: ["pro/x"]
    )

    /// The responses before and after a purchase, and the readings that are expected.
    private static let lists: [(JSONValue, JSONValue, [String: String])] = [
        (
            ["items": []],
            ["items": [["id": "pro/x", "active": true, "until": 1_790_000_000]]],
            [
                "access": "/items/id=pro~1x/active absent false",
                "expires": "/items/id=pro~1x/until absent null",
            ]
        ),
        (
            // The whole response is a list.
            [], [["key": "pro/x", "sku": "premium_monthly", "on": 1, "isActive": true]],
            [
                "access": "/key=pro~1x/isActive absent false",
                "product": "/key=pro~1x/sku absent null",
            ]
        ),
        (
            ["owned": ["basic"]], ["owned": ["basic", "pro/x"]],
            ["access": "/owned/=pro~1x is [\"pro/x\"]"]
        ),
        (
            ["rows": []], ["rows": [["state": "Active", "sku": "premium_monthly"]]],
            [
                "access": "/rows/state=Active/state is [\"Active\"] absent false",
                "product": "/rows/0/sku absent null",
            ]
        ),
        (
            ["entitlements": ["ads"]], ["entitlements": ["ads", "no-ads"]],
            ["access": "/entitlements/=no-ads is [\"no-ads\"]"]
        ), (["tags": []], ["tags": ["new"]], [:]),
        (
            ["rights": []],
            ["rights": [["name": "trial", "active": true], ["name": "pro/x", "active": true]]],
            ["access": "/rights/name=pro~1x/active absent false"]
        ),
        (
            // Only a list of entitlements is read in addition to a field outside of lists.
            ["active": false, "entitlements": [], "orders": []],
            [
                "active": true, "entitlements": [["id": "pro/x", "until": 1_790_000_000]],
                "orders": [["id": "pro/x", "sku": "premium_monthly"]],
            ],
            [
                "access": "/active and /entitlements/id=pro~1x/id is [\"pro/x\"] absent false",
                "expires": "/entitlements/id=pro~1x/until absent null",
            ]
        ),
        (
            // The flag is also true because of another entitlement.
            ["paid": false, "entitlements": ["ads"]],
            ["paid": true, "entitlements": ["ads", "pro/x"]],
            ["access": "/paid and /entitlements/=pro~1x is [\"pro/x\"] absent false"]
        ),
        // A name that was in the list before shows nothing.
        (["owned": ["pro/x"]], ["owned": ["x", "pro/x"]], [:]),
    ]

    @Test("an element of a list is selected by its content", arguments: lists)
    func selection(before: JSONValue, after: JSONValue, expected: [String: String]) {
        let survey = ResponseSurvey(before: before, after: after, Self.pro)
        #expect(Self.texts(survey) == expected)
        // Each path leads to a value of the response from which it was made.
        for reading in survey.readings.values { #expect(after[reading.pointer] != nil) }
        #expect(
            survey.doubtsByField.values.contains { $0.contains("first element") }
                == expected.values.contains { $0.contains("/0/") }
        )
    }

    @Test func `a list is named, whether its fields are read or left out`() {
        let list: JSONValue = [["active": true, "sku": "premium_monthly"]]
        let left = ResponseSurvey(
            before: ["active": false, "passes": []],
            after: ["active": true, "passes": list],
            Self.purchase
        )
        #expect(left.textAboutLists?.contains("product: /passes/0/sku") == true)
        #expect(left.doubtsByField.isEmpty)
        let read = ResponseSurvey(before: ["passes": []], after: ["passes": list], Self.purchase)
        #expect(read.textAboutLists == nil)
        #expect(read.doubtsByField["product"]?.contains("the list /passes") == true)
    }

    @Test func `an expiry alone is used as access`() {
        #expect(Self.readings(nil, ["until": 1_790_000_000])["access"] == "/until after now")
    }

    @Test func `unrelated changes are not mapped`() {
        #expect(Self.readings(["version": 1], ["version": 2]).isEmpty)
        #expect(Self.readings(.null, [:]).isEmpty)
    }
}
