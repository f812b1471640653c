internal import Values

/// The operations of REST v2 on invoices.
///
/// The fake has invoices only for purchases in Web Billing, because the other stores issue their
/// own invoices.
enum V2Invoices {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let path = call.customerPath + "/invoices"
        let purchases = try billedPurchases(&state, call)
        let items = purchases.map { purchase -> V2List.Item in
            let invoice = V2ResourceID.invoice(purchase)
            let days = state.catalog.product(purchase.productID).days
            let time = purchase.purchased.milliseconds
            return (
                invoice,
                [
                    "object": "invoice", "id": .string(invoice),
                    "total_amount": purchase.revenueJSON, "issued_at": .integer(time),
                    "paid_at": .integer(time), "invoice_url": .string("\(path)/\(invoice)/file"),
                    "line_items": [
                        [
                            "object": "invoice.line_item", "quantity": 1,
                            "product_identifier": .string(purchase.productID),
                            "product_display_name": .string(purchase.productID),
                            "product_duration": days.map { .string("P\($0)D") } ?? .null,
                            "unit_amount": purchase.revenueJSON,
                        ]
                    ],
                ]
            )
        }
        return try V2List.response(items, path, call)
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let wantedID = call.named("invoice_id")
        let purchases = try billedPurchases(&state, call)
        guard purchases.contains(where: { V2ResourceID.invoice($0) == wantedID }) else {
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

    private static func billedPurchases(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> [Purchase] {
        try state.customers.requiredCustomer(call.customerID, call).purchases.filter {
            $0.store == "RC_BILLING"
        }
    }
}
