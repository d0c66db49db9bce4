//! The one place where tokens and cost are counted. Pure.

use crate::protocol::{Price, Spending, Usage};

/// Counts the responses of one model, whose price may be unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    price: Option<Price>,
    spending: Spending,
}

impl Account {
    pub fn new(price: Option<Price>) -> Self {
        let spending = Spending {
            cost: price.map(|_| 0.0),
            ..Spending::default()
        };
        Self { price, spending }
    }

    /// Continues the account of an earlier run of the conversation, whatever its model was.
    pub fn after(price: Option<Price>, before: Option<Spending>) -> Self {
        match before {
            Some(spending) => Self { price, spending },
            None => Self::new(price),
        }
    }

    /// What is counted from now on has another price.
    pub fn reprice(&mut self, price: Option<Price>) {
        self.price = price;
    }

    pub fn count(&mut self, usage: Usage) {
        self.spending.used.add(usage);
        let cost = self.price.map(|price| cost(usage, price));
        self.spending.cost = self
            .spending
            .cost
            .zip(cost)
            .map(|(before, more)| before + more);
        let context = usage.in_context();
        if context > 0 {
            self.spending.context = Some(context);
        }
    }

    /// Counts what a subagent of this conversation has used.
    pub fn count_other(&mut self, other: &Spending) {
        self.spending.add(other);
    }

    pub fn spending(&self) -> Spending {
        self.spending
    }
}

/// What a response costs. Cached input is counted at the full price, because the price list has no lower price for
/// it.
fn cost(usage: Usage, price: Price) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^52"
    )]
    let millions = |tokens: u64| tokens as f64 / 1e6;
    let input = usage.input().saturating_add(usage.cached());
    millions(input) * price.input + millions(usage.output()) * price.output
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input: 3.0,
        output: 15.0,
    };

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cache_read_input_tokens: Some(cached),
            ..Usage::default()
        }
    }

    #[test]
    fn responses_add_up_and_the_last_one_gives_the_context_size() {
        let mut account = Account::new(Some(PRICE));
        assert_eq!(account.spending().cost, Some(0.0));
        account.count(usage(100_000, 0, 10_000));
        account.count(usage(20_000, 100_000, 20_000));
        let spending = account.spending();
        assert_eq!(spending.used, usage(120_000, 100_000, 30_000));
        assert_eq!(spending.context, Some(140_000));
        let cost = spending.cost.expect("the price is known");
        assert!((cost - (0.22 * 3.0 + 0.03 * 15.0)).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn missing_usage_changes_nothing() {
        let mut account = Account::new(Some(PRICE));
        account.count(usage(10, 0, 10));
        let before = account.spending();
        account.count(Usage::default());
        assert_eq!(account.spending(), before);
    }

    #[test]
    fn a_partly_unknown_cost_is_unknown() {
        let mut account = Account::new(None);
        account.count(usage(1_000_000, 0, 0));
        assert_eq!(account.spending().cost, None);
        let mut account = Account::after(Some(PRICE), Some(account.spending()));
        account.count(usage(1_000_000, 0, 0));
        assert_eq!(account.spending().cost, None);
        assert_eq!(account.spending().used.input_tokens, Some(2_000_000));

        let mut account = Account::new(Some(PRICE));
        account.count(usage(1_000_000, 0, 0));
        let mut account = Account::after(None, Some(account.spending()));
        assert_eq!(account.spending().cost, Some(3.0), "known so far");
        account.count(usage(1, 0, 0));
        assert_eq!(account.spending().cost, None);
    }
}
