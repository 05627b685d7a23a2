//! Making a guest on a libvirt that is a list in memory, and that can be told to make something else of what it is given.

use super::*;
use crate::domain::tests::spec;
use std::cell::RefCell;

#[derive(Default)]
struct Fake {
    defined: RefCell<Option<String>>,
    running: RefCell<Option<String>>,
    adds: &'static str,
    adds_at_start: &'static str,
    down: bool,
}

impl Fake {
    fn with(xml: &str, adds: &str) -> String {
        xml.replace("</devices>", &format!("{adds}</devices>"))
    }
}

impl Machines for Fake {
    fn define(&self, xml: &str) -> Result<(), MachineFault> {
        if self.down {
            return Err(MachineFault::LibvirtDown { said: "down".into() });
        }
        *self.defined.borrow_mut() = Some(Self::with(xml, self.adds));
        Ok(())
    }
    fn start(&self, _: Uuid) -> Result<(), MachineFault> {
        if self.running.borrow().is_none() {
            *self.running.borrow_mut() = self.defined.borrow().as_ref().map(|xml| Self::with(xml, self.adds_at_start));
        }
        Ok(())
    }
    fn state(&self, _: Uuid) -> Result<Option<StateSeen>, MachineFault> {
        Ok(None)
    }
    fn list(&self) -> Result<Vec<Uuid>, MachineFault> {
        Ok(vec![])
    }
    fn shutdown_acpi(&self, _: Uuid) -> Result<(), MachineFault> {
        Ok(())
    }
    fn destroy(&self, _: Uuid) -> Result<(), MachineFault> {
        *self.running.borrow_mut() = None;
        Ok(())
    }
    fn undefine(&self, _: Uuid) -> Result<(), MachineFault> {
        *self.defined.borrow_mut() = None;
        Ok(())
    }
    fn dumpxml(&self, uuid: Uuid, which: Which) -> Result<String, MachineFault> {
        let xml = match which {
            Which::Now => self.running.borrow().clone(),
            Which::NextStart => self.defined.borrow().clone(),
        };
        xml.ok_or(MachineFault::NoSuchDomain { uuid: uuid.to_string() })
    }
}

#[test]
fn what_was_asked_for_is_started_and_again_is_the_same() {
    let fake = Fake::default();
    assert_eq!(create(&fake, &spec()), Ok(()));
    assert_eq!(create(&fake, &spec()), Ok(()));
    assert!(fake.running.borrow().is_some());
}

#[test]
fn something_else_is_never_started() {
    let fake = Fake { adds: "<graphics type='vnc'/>", ..Fake::default() };
    assert!(matches!(create(&fake, &spec()), Err(MachineFault::Different { .. })));
    assert!(fake.running.borrow().is_none() && fake.defined.borrow().is_none());
}

#[test]
fn what_changes_at_the_start_is_seen_and_an_older_guest_is_not_taken_for_this_one() {
    let fake = Fake { adds_at_start: "<hostdev mode='subsystem' type='usb'/>", ..Fake::default() };
    assert!(matches!(create(&fake, &spec()), Err(MachineFault::Different { .. })));
    let fake = Fake::default();
    create(&fake, &spec()).unwrap();
    let mut other = spec();
    other.nic.vlan = 101;
    assert!(matches!(create(&fake, &other), Err(MachineFault::Different { .. })));
}

#[test]
fn a_bad_spec_and_a_silent_libvirt_start_nothing() {
    let mut bad = spec();
    bad.nic.vlan = 0;
    assert!(matches!(create(&Fake::default(), &bad), Err(MachineFault::Spec(_))));
    let down = Fake { down: true, ..Fake::default() };
    assert!(matches!(create(&down, &spec()), Err(MachineFault::LibvirtDown { .. })));
}
