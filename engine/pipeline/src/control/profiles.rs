// SPDX-License-Identifier: MIT OR Apache-2.0
//! Action profiles and selectors.
//!
//! An entry of their tables has [`ActionSpec::member`] or [`ActionSpec::group`] in place of an action. On a miss such a
//! table does nothing, unless the control plane has set a member or group as its default.

use marklab_p4::ir::ProfileId;
use num_bigint::BigUint;

use super::{ActionSpec, ControlError, find};
use crate::State;
use crate::action::{GroupId, Member, MemberId};
use crate::profile::Profile;
use crate::table::{CALLS, GROUP, MEMBER, Table};

impl ActionSpec {
    /// Runs the action of a member.
    pub fn member(MemberId(id): MemberId) -> ActionSpec {
        pointer(MEMBER, id)
    }

    /// Runs the action of a member of a group, chosen by the hash of the table's `selector` keys.
    pub fn group(GroupId(id): GroupId) -> ActionSpec {
        pointer(GROUP, id)
    }
}

fn pointer(call: u32, id: u32) -> ActionSpec {
    ActionSpec { action: CALLS[call as usize].to_owned(), params: vec![("id".to_owned(), BigUint::from(id))] }
}

impl State {
    /// The action profile or selector of that name.
    pub fn find_profile(&self, name: &str) -> Result<ProfileId, ControlError> {
        let names = self.program.profiles.iter().map(|profile| profile.name.as_str());
        find("action profile", names, name).map(|at| ProfileId(at as u32))
    }

    /// A profile with its members and groups.
    pub fn profile(&self, profile: ProfileId) -> &Profile {
        &self.profiles[profile.index()]
    }

    /// Adds a member, which gets the lowest free number.
    ///
    /// # Errors
    ///
    /// [`crate::ProfileError`], here and below. Then nothing has changed.
    pub fn add_member(&mut self, profile: ProfileId, call: &ActionSpec) -> Result<MemberId, ControlError> {
        let member = self.member_of(profile, call)?;
        let id = self.profiles[profile.index()].add_member(member)?;
        self.publish_member(profile, id);
        Ok(id)
    }

    /// Changes the action of a member, for all entries that point to it.
    pub fn modify_member(&mut self, profile: ProfileId, id: MemberId, call: &ActionSpec) -> Result<(), ControlError> {
        let member = self.member_of(profile, call)?;
        self.profiles[profile.index()].modify_member(id, member)?;
        self.publish_member(profile, id);
        Ok(())
    }

    /// Removes a member to which no entry, default or group points.
    pub fn delete_member(&mut self, profile: ProfileId, id: MemberId) -> Result<(), ControlError> {
        self.profiles[profile.index()].member(id)?;
        self.check_unused(profile, MEMBER, id.0)?;
        self.profiles[profile.index()].delete_member(id)?;
        for table in self.tables_of(profile) {
            table.remove_member(id);
        }
        Ok(())
    }

    /// Adds an empty group, which gets the lowest free number.
    pub fn add_group(&mut self, profile: ProfileId) -> Result<GroupId, ControlError> {
        let id = self.profiles[profile.index()].add_group()?;
        self.publish_group(profile, id);
        Ok(id)
    }

    /// Removes a group to which no entry or default points. Its members stay.
    pub fn delete_group(&mut self, profile: ProfileId, id: GroupId) -> Result<(), ControlError> {
        self.profiles[profile.index()].group(id)?;
        self.check_unused(profile, GROUP, id.0)?;
        self.profiles[profile.index()].delete_group(id)?;
        self.publish_group(profile, id);
        Ok(())
    }

    /// Puts a member into a group.
    pub fn add_to_group(&mut self, profile: ProfileId, member: MemberId, group: GroupId) -> Result<(), ControlError> {
        self.profiles[profile.index()].add_to_group(member, group)?;
        self.publish_group(profile, group);
        Ok(())
    }

    /// Removes a member from a group. The group may become empty; then its packets run no action.
    pub fn remove_from_group(
        &mut self,
        profile: ProfileId,
        member: MemberId,
        group: GroupId,
    ) -> Result<(), ControlError> {
        self.profiles[profile.index()].remove_from_group(member, group)?;
        self.publish_group(profile, group);
        Ok(())
    }

    fn member_of(&self, profile: ProfileId, call: &ActionSpec) -> Result<Member, ControlError> {
        let profile = &self.profiles[profile.index()];
        let (action, args) = super::call_of("action profile", profile.name(), profile.actions(), call)?;
        Ok(Member { action, args })
    }

    fn tables_of(&mut self, profile: ProfileId) -> impl Iterator<Item = &mut Table> {
        self.tables.iter_mut().map(|table| &mut **table).filter(move |table| table.spec().profile == Some(profile))
    }

    fn check_unused(&mut self, profile: ProfileId, call: u32, number: u32) -> Result<(), ControlError> {
        let user = self.tables_of(profile).find(|table| table.points_to(call, number));
        let user = user.map(|table| format!("an entry or the default of table `{}`", table.name()));
        match user {
            None => Ok(()),
            Some(user) => {
                let what = format!("{} {number}", CALLS[call as usize]);
                Err(self.profiles[profile.index()].in_use(what, user).into())
            }
        }
    }

    /// Copies a member to the profile's tables.
    fn publish_member(&mut self, profile: ProfileId, id: MemberId) {
        let of = &self.profiles[profile.index()];
        if let Ok(member) = of.member(id).cloned() {
            let action = of.actions()[member.action as usize].0.clone();
            self.tables_of(profile).for_each(|table| table.put_member(id, &action, &member));
        }
    }

    /// Copies a group to the profile's tables, or removes it from them.
    fn publish_group(&mut self, profile: ProfileId, id: GroupId) {
        let members = self.profiles[profile.index()].group(id).ok().map(|members| members.iter().copied().collect());
        self.tables_of(profile).for_each(|table| table.put_group(id, members.clone()));
    }
}
