import Testing

@testable import Replay

/// The products that the files of a backend name.
@Suite("Uses of products in files")
struct ProductUsesTests {
    private static func ids(_ text: String) -> [String] {
        let (named, others) = ProductUses(SourceText(path: "app.py", text: text)).ids
        return named + others
    }

    @Test(
        "an ID in a list of products, beside the name of a product or with a period is found",
        arguments: [
            #"PRODUCT_TO_PLAN = {"gold_pass": "gold"}"#, #"const PRODUCTS = ["gold_pass"];"#,
            #"{"vip_products": {"gold_pass": {"plan": "gold", "days": 30}}}"#,
            "PREMIUM_PRODUCT_IDS: set[str] = {'gold_pass'}",
            "const productPlans: Record<string, Plan> = { 'gold_pass': Plan.gold };",
            "products := map[string]string{\"gold_pass\": \"gold\"}",
            #"if product_id == "gold_pass":"#, "const PRODUCT_ID_GOLD = 'gold_pass';",
            "$products = ['gold_pass' => 'gold'];",
        ]
    )
    func found(text: String) { #expect(Self.ids(text) == ["gold_pass"]) }

    @Test("an ID with a period is found in a file about products")
    func period() {
        #expect(
            Self.ids(#"def plan(product): return {"app.gold.1month": 1}[product]"#) == [
                "app.gold.1month"
            ]
        )
        #expect(Self.ids(#"x = {"app.gold.1month": 1}"#).isEmpty)
    }

    @Test(
        "other texts are no IDs of products",
        arguments: [
            #"event["product_id"]"#, #"product_id = event.get("product_id")"#,
            #"if product_id == "":"#, #"log("product not found in the list of this month")"#,
            #"type == "PRODUCT_CHANGE""#, #"product: "expires_at""#, #"products = {"name": 1}"#,
            #"if "month" in product_id:"#, "import products from './products/monthly.js'",
        ]
    )
    func notFound(text: String) { #expect(Self.ids(text).isEmpty, "\(Self.ids(text))") }

    @Test("IDs are assigned by their periods, and the default product always has one")
    func assignment() {
        #expect(
            ProductUses.assignment(of: ["a_year", "b_month", "c_month"]) == [
                "premium_monthly": "b_month", "premium_yearly": "a_year",
            ]
        )
        #expect(ProductUses.assignment(of: ["gold"]) == ["premium_monthly": "gold"])
        #expect(
            ProductUses.assignment(of: ["for_life", "one_week"]) == [
                "premium_monthly": "one_week", "premium_lifetime": "for_life",
            ]
        )
        #expect(ProductUses.assignment(of: []).isEmpty)
    }

    @Test("files with settings may list products")
    func settings() {
        let listed = ["products.json", "plan_catalog.json", "default_config.json"]
        #expect(listed.allSatisfy(ProductUses.mayBeListed))
        #expect(
            ["package.json", "products.csv", "data.json"].allSatisfy {
                !ProductUses.mayBeListed(inFile: $0)
            }
        )
        let files = [
            SourceSurvey.File(path: "config/plans.json", text: #"{"products": {"gold_pass": 1}}"#),
            SourceSurvey.File(path: "tests/plans.json", text: #"{"products": {"test_pass": 1}}"#),
        ]
        #expect(SourceSurvey(files).productUses.ids.named == ["gold_pass"])
    }
}
