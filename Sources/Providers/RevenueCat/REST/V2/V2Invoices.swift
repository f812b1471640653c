internal import Grammar
internal import Values

/// The operations of REST v2 on invoices.
///
/// The fake has invoices only for purchases in Web Billing, because the other stores issue their
/// own invoices.
extension RevenueCatState {
    mutating func listCustomerInvoices(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let path = call.customerPath + "/invoices"
        let purchases = try billedPurchases(call)
        let items = purchases.map { purchase -> (id: String, value: JSONValue) in
            let invoice = Self.invoiceID(purchase)
            let days = catalog.product(purchase.productID).days
            let time = purchase.purchased.milliseconds
            return (
                invoice,
                [
                    "object": "invoice", "id": .string(invoice),
                    "total_amount": Self.revenueJSON(purchase), "issued_at": .integer(time),
                    "paid_at": .integer(time), "invoice_url": .string("\(path)/\(invoice)/file"),
                    "line_items": [
                        [
                            "object": "invoice.line_item", "quantity": 1,
                            "product_identifier": .string(purchase.productID),
                            "product_display_name": .string(purchase.productID),
                            "product_duration": days.map { .string("P\($0)D") } ?? .null,
                            "unit_amount": Self.revenueJSON(purchase),
                        ]
                    ],
                ]
            )
        }
        return try pageResponse(items, path, call)
    }

    mutating func getInvoice(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let wantedID = call.named("invoice_id")
        let purchases = try billedPurchases(call)
        guard purchases.contains(where: { Self.invoiceID($0) == wantedID }) else {
            throw .missingResource("invoice")
        }
        return HTTPMessage.Response(
            302,
            fields: [
                HTTPMessage.Field("location", "https://pay.rev.cat/invoices/\(wantedID).pdf")
            ],
            body: []
        )
    }

    private mutating func billedPurchases(_ call: CallV2) throws(RevenueCatError) -> [Purchase] {
        try existingCustomer(call.customerID, call).purchases.filter { $0.store == "RC_BILLING" }
    }

    private static func invoiceID(_ purchase: Purchase) -> String {
        objectID("rcbin", purchase.transactionID)
    }
}
