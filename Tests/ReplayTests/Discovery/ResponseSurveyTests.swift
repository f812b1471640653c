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
        ResponseSurvey(before: before, after: after, purchase).readings.mapValues { reading in
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
                "access": "/passes/0/active absent false", "product": "/passes/0/sku absent null",
            ]
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
        #expect(read.doubtsByField["access"]?.contains("the list /passes") == true)
    }

    @Test func `an expiry alone is used as access`() {
        #expect(Self.readings(nil, ["until": 1_790_000_000])["access"] == "/until after now")
    }

    @Test func `unrelated changes are not mapped`() {
        #expect(Self.readings(["version": 1], ["version": 2]).isEmpty)
        #expect(Self.readings(.null, [:]).isEmpty)
    }
}
