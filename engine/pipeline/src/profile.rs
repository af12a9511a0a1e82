// SPDX-License-Identifier: MIT OR Apache-2.0
//! Action profiles and selectors.
//!
//! A *member* is an action with its parameters. Table entries point to members instead of naming an action. Entries of
//! a selector's tables may also point to a *group* of members, from which a hash chooses one for each packet.
//!
//! Numbers and order are BMv2's (`src/bm_sim/action_profile.cpp`): a new member or group gets the lowest free number.
//! The members of a group are in the order of their numbers, not in the order in which they were added. The declared
//! size is ignored.

use std::collections::BTreeSet;

use marklab_p4::ir::{
    self, ActionParam, DataField, ExprKind, HashAlgorithm, HeaderId, HeaderRef, MatchKind, Place, ProfileId, Program,
};
use thiserror::Error;

use crate::action::{GroupId, Member, MemberId, actions_of, check_args};
use crate::load_error::LoadError;

/// Why a profile refused an operation.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ProfileError {
    /// No member of that number.
    #[error("profile `{profile}` has no member {member}")]
    NoMember {
        /// Profile.
        profile: String,
        /// Number asked for.
        member: u32,
    },
    /// No group of that number.
    #[error("profile `{profile}` has no group {group}")]
    NoGroup {
        /// Profile.
        profile: String,
        /// Number asked for.
        group: u32,
    },
    /// Only selectors have groups.
    #[error("profile `{profile}` has no groups: it is not an `action_selector`")]
    NotASelector {
        /// Profile.
        profile: String,
    },
    /// Something points to the member or group that was to be deleted.
    #[error("profile `{profile}`: {what} cannot be deleted before {user}, which points to it")]
    InUse {
        /// Profile.
        profile: String,
        /// The member or group.
        what: String,
        /// What points to it.
        user: String,
    },
    /// The member is in the group already.
    #[error("profile `{profile}`: member {member} is in group {group} already")]
    AlreadyInGroup {
        /// Profile.
        profile: String,
        /// Member.
        member: u32,
        /// Group.
        group: u32,
    },
    /// The member is not in the group.
    #[error("profile `{profile}`: member {member} is not in group {group}")]
    NotInGroup {
        /// Profile.
        profile: String,
        /// Member.
        member: u32,
        /// Group.
        group: u32,
    },
    /// The action is unknown, or members cannot have it.
    #[error("profile `{profile}` cannot use action `{action}`: {problem}")]
    Action {
        /// Profile.
        profile: String,
        /// Action.
        action: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// An `action_profile` or `action_selector` with its members and groups.
#[derive(Clone, Debug)]
pub struct Profile {
    name: String,
    is_selector: bool,
    /// Actions of the tables that it implements.
    actions: Vec<(String, Vec<ActionParam>)>,
    /// For each action, whether it is `@defaultonly`.
    default_only: Vec<bool>,
    members: Vec<Option<Member>>,
    groups: Vec<Option<BTreeSet<MemberId>>>,
}

impl Profile {
    /// A profile of a program, without members. Its tables must have the same actions, in any order.
    pub(crate) fn new(program: &Program, id: ProfileId) -> Result<Profile, LoadError> {
        let spec = &program.profiles[id.index()];
        let unsupported = |name: &str, what| Err(LoadError::Unsupported { name: name.to_owned(), what });
        if spec.selector == Some(HashAlgorithm::Random) {
            return unsupported(&spec.name, "a selector with HashAlgorithm.random");
        }
        let mut tables = program.tables.iter().filter(|table| table.profile == Some(id));
        if let Some(table) = tables.clone().find(|table| !table.entries.is_empty()) {
            return unsupported(&table.name, "`entries` in a table with an `implementation`");
        }
        let first = tables.next();
        let actions = first.map(|table| actions_of(program, table)).unwrap_or_default();
        let names = |actions: &[(String, _)]| actions.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>();
        if tables.any(|table| names(&actions_of(program, table)) != names(&actions)) {
            return unsupported(&spec.name, "an `implementation` shared by tables with different actions");
        }
        Ok(Profile {
            name: spec.name.clone(),
            is_selector: spec.selector.is_some(),
            actions,
            default_only: first.iter().flat_map(|table| &table.actions).map(|action| action.default_only).collect(),
            members: Vec::new(),
            groups: Vec::new(),
        })
    }

    /// Name in the control plane.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the actions that members may have, and their parameters.
    pub fn actions(&self) -> &[(String, Vec<ActionParam>)] {
        &self.actions
    }

    /// Members in the order of their numbers.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, &Member)> {
        self.members.iter().enumerate().filter_map(|(number, member)| Some((MemberId(number as u32), member.as_ref()?)))
    }

    /// Groups in the order of their numbers, each with its members in the order of the members' numbers.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &BTreeSet<MemberId>)> {
        self.groups.iter().enumerate().filter_map(|(number, group)| Some((GroupId(number as u32), group.as_ref()?)))
    }

    pub(crate) fn member(&self, member: MemberId) -> Result<&Member, ProfileError> {
        let found = self.members.get(member.0 as usize).and_then(Option::as_ref);
        found.ok_or_else(|| ProfileError::NoMember { profile: self.name.clone(), member: member.0 })
    }

    pub(crate) fn group(&self, group: GroupId) -> Result<&BTreeSet<MemberId>, ProfileError> {
        let found = self.groups.get(group.0 as usize).and_then(Option::as_ref);
        found.ok_or_else(|| ProfileError::NoGroup { profile: self.name.clone(), group: group.0 })
    }

    pub(crate) fn add_member(&mut self, member: Member) -> Result<MemberId, ProfileError> {
        self.check(&member)?;
        Ok(MemberId(put(&mut self.members, member)))
    }

    pub(crate) fn modify_member(&mut self, id: MemberId, member: Member) -> Result<(), ProfileError> {
        self.member(id)?;
        self.check(&member)?;
        self.members[id.0 as usize] = Some(member);
        Ok(())
    }

    /// Removes a member that is in no group. The caller ensures that no table points to it.
    pub(crate) fn delete_member(&mut self, id: MemberId) -> Result<(), ProfileError> {
        self.member(id)?;
        if let Some((GroupId(group), _)) = self.groups().find(|(_, members)| members.contains(&id)) {
            return Err(self.in_use(format!("member {}", id.0), format!("group {group}")));
        }
        self.members[id.0 as usize] = None;
        Ok(())
    }

    pub(crate) fn add_group(&mut self) -> Result<GroupId, ProfileError> {
        if !self.is_selector {
            return Err(ProfileError::NotASelector { profile: self.name.clone() });
        }
        Ok(GroupId(put(&mut self.groups, BTreeSet::new())))
    }

    /// Removes a group. The caller ensures that no table points to it.
    pub(crate) fn delete_group(&mut self, id: GroupId) -> Result<(), ProfileError> {
        self.group(id)?;
        self.groups[id.0 as usize] = None;
        Ok(())
    }

    pub(crate) fn add_to_group(&mut self, member: MemberId, group: GroupId) -> Result<(), ProfileError> {
        self.member(member)?;
        self.group(group)?;
        let added = self.groups[group.0 as usize].as_mut().is_some_and(|members| members.insert(member));
        if !added {
            let profile = self.name.clone();
            return Err(ProfileError::AlreadyInGroup { profile, member: member.0, group: group.0 });
        }
        Ok(())
    }

    pub(crate) fn remove_from_group(&mut self, member: MemberId, group: GroupId) -> Result<(), ProfileError> {
        self.member(member)?;
        self.group(group)?;
        let removed = self.groups[group.0 as usize].as_mut().is_some_and(|members| members.remove(&member));
        if !removed {
            let profile = self.name.clone();
            return Err(ProfileError::NotInGroup { profile, member: member.0, group: group.0 });
        }
        Ok(())
    }

    pub(crate) fn in_use(&self, what: String, user: String) -> ProfileError {
        ProfileError::InUse { profile: self.name.clone(), what, user }
    }

    fn check(&self, member: &Member) -> Result<(), ProfileError> {
        let refuse = |action: &str, problem: String| {
            Err(ProfileError::Action { profile: self.name.clone(), action: action.to_owned(), problem })
        };
        let Some((name, params)) = self.actions.get(member.action as usize) else {
            return refuse(&format!("#{}", member.action), "the profile's tables have no such action".to_owned());
        };
        if self.default_only[member.action as usize] {
            return refuse(name, "it is @defaultonly".to_owned());
        }
        check_args(params, &member.args).or_else(|problem| refuse(name, problem))
    }
}

/// Puts a value at the lowest free index, and returns the index.
fn put<T>(places: &mut Vec<Option<T>>, value: T) -> u32 {
    let free = places.iter().position(Option::is_none).unwrap_or_else(|| {
        places.push(None);
        places.len() - 1
    });
    places[free] = Some(value);
    free as u32
}

/// Algorithm and input of the hash that chooses a group's member for a packet; `None` without a selector.
pub(crate) fn selection(program: &Program, table: &ir::Table) -> Option<(HashAlgorithm, Vec<DataField>)> {
    let algorithm = program.profiles[table.profile?.index()].selector?;
    let keys = table.keys.iter().filter(|key| key.kind == MatchKind::Selector);
    let data = keys.map(|key| DataField {
        expr: key.expr.clone(),
        header: match &key.expr.kind {
            ExprKind::Load(place) => header_of(program, place),
            _ => None,
        },
    });
    Some((algorithm, data.collect()))
}

/// The header that contains a place.
fn header_of(program: &Program, place: &Place) -> Option<HeaderRef> {
    let id = program.headers.iter().position(|header| header.fields.contains(&place.slot))?;
    Some(HeaderRef { header: HeaderId(id as u32), index: place.index.clone() })
}
