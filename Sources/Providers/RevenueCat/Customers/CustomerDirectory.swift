internal import Values

/// The customers of the fake RevenueCat, with the IDs that belong to them.
///
/// Each customer has an internal number, which a login or a new alias does not change. An ID
/// belongs to one customer, and the customer's own list of IDs contains it. The directory also
/// keeps the earlier states that REST returns while it lags behind the webhook events.
///
/// Source: RevenueCat fact sheet, section 5.
struct CustomerDirectory: Hashable, Codable, Sendable {
    private var table = CustomerTable()
    private var numberByID: SharedTable<ExactText, Int> = [:]
    @JSONSafeInteger private var nextNumber = 0
    private var earlierCustomers = EarlierCustomers()

    /// The customer with this number; nil when there is none.
    ///
    /// A change through this subscript leaves the customer's IDs unchanged.
    subscript(number: Int) -> Customer? {
        get { table[number] }
        set { table[number] = newValue }
    }

    // MARK: Lookup

    /// All customers, in no particular order.
    var all: [Customer] { table.all }

    var numbers: [Int] { table.customerNumbers }

    /// Returns the number of the customer to whom an ID belongs; nil for an unknown ID.
    func number(of id: String) -> Int? { numberByID[ExactText(id)] }

    func customer(_ id: String) -> Customer? { numberByID[ExactText(id)].flatMap { table[$0] } }

    /// Returns the customers who own a purchase with this transaction ID or receipt, oldest first.
    func owners(
        of identifier: CustomerTable.PurchaseIdentifier
    ) -> [(customerNumber: Int, customer: Customer)] {
        table.owners(of: identifier)
    }

    /// Returns the next automatic change of a subscription.
    ///
    /// The store notices the end of a period with this delay.
    func nextDueChange(noticedAfter delay: Duration) -> CustomerTable.DueChange? {
        table.nextDueChange(noticedAfter: delay)
    }

    // MARK: REST lag

    /// Saves the current state, which REST returns until this time.
    mutating func saveState(until time: Instant) { earlierCustomers.add(table, until: time) }

    /// Returns a customer in the state that REST shows.
    ///
    /// With the REST lag switched on, this state may be older than the current one.
    mutating func visibleCustomer(_ number: Int, at now: Instant) -> Customer? {
        earlierCustomers.customer(number, at: now) ?? table[number]
    }

    /// Returns all customers in the state that REST shows, oldest first.
    mutating func visibleCustomers(at now: Instant) -> [Customer] {
        all.sorted { ($0.firstSeen, $0.originalID) < ($1.firstSeen, $1.originalID) }
            .compactMap { customer in
                numberByID[ExactText(customer.originalID)].flatMap { visibleCustomer($0, at: now) }
            }
    }

    // MARK: Creation and activity

    /// Returns the number of the customer with any of these IDs, or of a new customer.
    ///
    /// Afterwards, all IDs that were unknown belong to that customer.
    mutating func findOrCreate(_ ids: [String], originalID: String, at now: Instant) -> Int {
        let existingNumber = ids.compactMap { numberByID[ExactText($0)] }.first
        let number = existingNumber ?? nextNumber
        if existingNumber == nil {
            nextNumber += 1
            table[number] = Customer(ids: [], originalID: originalID, firstSeen: now, lastSeen: now)
        }
        for id in ids where numberByID[ExactText(id)] == nil { add(id, to: number) }
        return number
    }

    /// Records that an ID was used, and returns the number of its customer, which may be new.
    ///
    /// The name of the platform is known only when a device used the ID.
    mutating func recordActivity(
        of id: String,
        at now: Instant,
        platform: String? = nil
    ) -> Int {
        let number = findOrCreate([id], originalID: id, at: now)
        table[number]?.lastSeenID = id
        if let platform {
            table[number]?.lastSeen = now
            table[number]?.lastPlatform = platform
        }
        return number
    }

    /// Saves a purchase of a customer with the time of its new state.
    mutating func save(_ purchase: Purchase, of number: Int, asOf now: Instant) {
        var purchase = purchase
        purchase.asOf = now
        table[number]?.putPurchase(purchase)
    }

    // MARK: Login, merging and removal

    /// Changes the customer's App User ID as the SDK's `logIn` does.
    ///
    /// Returns whether the new ID was unknown before.
    mutating func logIn(_ currentID: String, as wantedID: String, at now: Instant) -> Bool {
        let sourceNumber = findOrCreate([currentID], originalID: currentID, at: now)
        defer {
            if let number = numberByID[ExactText(wantedID)] {
                table[number]?.lastSeenID = wantedID
                table[number]?.lastSeen = now
            }
        }
        guard let targetNumber = numberByID[ExactText(wantedID)] else {
            if Customer.isAnonymous(currentID), table[sourceNumber]?.isAnonymous == true {
                add(wantedID, to: sourceNumber)
            } else {
                _ = findOrCreate([wantedID], originalID: wantedID, at: now)
            }
            return true
        }
        let hasAnonymousAlias =
            table[targetNumber]?.ids.contains(where: Customer.isAnonymous) ?? false
        if Customer.isAnonymous(currentID), table[sourceNumber]?.isAnonymous == true,
            !hasAnonymousAlias
        {
            merge(sourceNumber, into: targetNumber)
        }
        return false
    }

    /// Merges one customer into another.
    ///
    /// The remaining customer keeps the original ID of the older customer.
    ///
    /// No event is sent: a backend learns of the merge from the aliases in the next event
    /// (RevenueCat fact sheet, section 5.4).
    mutating func merge(_ removedNumber: Int, into remainingNumber: Int) {
        guard removedNumber != remainingNumber, let removedCustomer = table[removedNumber],
            var remainingCustomer = table[remainingNumber]
        else {
            return
        }
        remainingCustomer.merge(removedCustomer)
        table[remainingNumber] = remainingCustomer
        table[removedNumber] = nil
        for id in removedCustomer.ids { numberByID[ExactText(id)] = remainingNumber }
    }

    /// Moves a customer's purchases in one environment to another customer.
    ///
    /// A transfer concerns one environment, which its event names: it never moves a production
    /// purchase because of a restore in the sandbox (identity rules, S-19).
    mutating func movePurchases(
        from sourceNumber: Int,
        to targetNumber: Int,
        environment: String
    ) {
        guard sourceNumber != targetNumber, table[targetNumber] != nil,
            let moved = table[sourceNumber]?.removePurchases(inSandbox: environment == "SANDBOX")
        else { return }
        table[targetNumber]?.mergePurchases(from: moved)
    }

    /// Records that all these IDs belong to one customer, and returns the customer's number.
    ///
    /// Customers who had one of the IDs before are merged, because an event that lists aliases
    /// reports a merge (RevenueCat fact sheet, section 5.4).
    mutating func unite(_ ids: [String], originalID: String, at now: Instant) -> Int {
        let number = findOrCreate(ids, originalID: originalID, at: now)
        for id in ids {
            if let otherNumber = numberByID[ExactText(id)], otherNumber != number {
                merge(otherNumber, into: number)
            }
        }
        table[number]?.originalID = originalID
        return number
    }

    mutating func remove(_ number: Int) {
        guard let customer = table[number] else { return }
        table[number] = nil
        for id in customer.ids where numberByID[ExactText(id)] == number {
            numberByID[ExactText(id)] = nil
        }
    }

    private mutating func add(_ id: String, to number: Int) {
        numberByID[ExactText(id)] = number
        table[number]?.ids.append(id)
    }
}
