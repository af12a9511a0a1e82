// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where copies of packets go: mirror sessions, and multicast groups of simple_switch's replication engine.
//!
//! Names and rules are those of its control plane: a node is a replication id with ports, and belongs to one group at
//! most.

use std::collections::BTreeMap;

use thiserror::Error;

/// Largest number of a mirror session.
pub const MAX_SESSION: u32 = (1 << 15) - 1;

/// Largest port that a node can have.
const MAX_PORT: usize = 511;

/// Where clones of a session go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mirror {
    /// To a port.
    Port(usize),
    /// To all ports of a multicast group.
    Group(u32),
}

/// Number of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeHandle(pub u32);

/// A copy that a group makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replica {
    /// Its `egress_rid`.
    pub rid: u16,
    /// Where it goes.
    pub port: usize,
}

/// Why a change was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ReplicationError {
    /// The number of a session is too large.
    #[error("there is no mirror session {0}: sessions are 0 to {MAX_SESSION}")]
    SessionRange(u32),
    /// No such session.
    #[error("there is no mirror session {0}; add it first")]
    NoSession(u32),
    /// No such group.
    #[error("there is no multicast group {0}; create it first")]
    NoGroup(u32),
    /// No such node.
    #[error("there is no multicast node {}; create it first", .0.0)]
    NoNode(NodeHandle),
    /// The node is in a group already.
    #[error("multicast node {} is in group {group} already; dissociate it first", .node.0)]
    Associated {
        /// The node.
        node: NodeHandle,
        /// Its group.
        group: u32,
    },
    /// The node is not in that group.
    #[error("multicast node {} is not in group {group}", .node.0)]
    NotAssociated {
        /// The node.
        node: NodeHandle,
        /// The group.
        group: u32,
    },
    /// A node cannot have such a port.
    #[error("port {0} cannot be in a multicast group: ports are 0 to {MAX_PORT}")]
    Port(usize),
}

type Result<T = ()> = std::result::Result<T, ReplicationError>;

#[derive(Clone, Debug)]
struct Node {
    rid: u16,
    /// In ascending order.
    ports: Vec<usize>,
    group: Option<u32>,
}

/// Mirror sessions and multicast groups of a switch.
#[derive(Clone, Default, Debug)]
pub struct Replication {
    sessions: BTreeMap<u32, Mirror>,
    /// Nodes of each group in the order of their association.
    groups: BTreeMap<u32, Vec<NodeHandle>>,
    nodes: BTreeMap<NodeHandle, Node>,
}

impl Replication {
    /// Sets where clones of a session go.
    ///
    /// # Errors
    ///
    /// [`ReplicationError`] names the wrong number, as in all functions here.
    pub fn add_session(&mut self, session: u32, to: Mirror) -> Result {
        if session > MAX_SESSION {
            return Err(ReplicationError::SessionRange(session));
        }
        self.sessions.insert(session, to);
        Ok(())
    }

    /// Ends a session: calls of `clone` that name it do nothing from then on.
    pub fn delete_session(&mut self, session: u32) -> Result {
        self.sessions.remove(&session).map(|_| ()).ok_or(ReplicationError::NoSession(session))
    }

    /// Where clones of a session go.
    pub fn session(&self, session: u32) -> Option<Mirror> {
        self.sessions.get(&session).copied()
    }

    /// Makes a group without nodes. An existing group stays as it is.
    pub fn create_group(&mut self, group: u32) {
        self.groups.entry(group).or_default();
    }

    /// Removes a group; its nodes stay.
    pub fn destroy_group(&mut self, group: u32) -> Result {
        let nodes = self.groups.remove(&group).ok_or(ReplicationError::NoGroup(group))?;
        for handle in nodes {
            self.node(handle)?.group = None;
        }
        Ok(())
    }

    /// Makes a node with the smallest free number.
    pub fn create_node(&mut self, rid: u16, ports: &[usize]) -> Result<NodeHandle> {
        let ports = ascending(ports)?;
        let free = (0..).map(NodeHandle).find(|handle| !self.nodes.contains_key(handle));
        let handle = free.expect("fewer than 2^32 nodes");
        self.nodes.insert(handle, Node { rid, ports, group: None });
        Ok(handle)
    }

    /// Gives a node other ports.
    pub fn update_node(&mut self, handle: NodeHandle, ports: &[usize]) -> Result {
        self.node(handle)?.ports = ascending(ports)?;
        Ok(())
    }

    /// Removes a node, from its group as well.
    pub fn destroy_node(&mut self, handle: NodeHandle) -> Result {
        if let Some(group) = self.node(handle)?.group {
            self.dissociate(group, handle)?;
        }
        self.nodes.remove(&handle);
        Ok(())
    }

    /// Puts a node into a group, behind its present nodes.
    pub fn associate(&mut self, group: u32, handle: NodeHandle) -> Result {
        if let Some(group) = self.node(handle)?.group {
            return Err(ReplicationError::Associated { node: handle, group });
        }
        self.groups.get_mut(&group).ok_or(ReplicationError::NoGroup(group))?.push(handle);
        self.node(handle)?.group = Some(group);
        Ok(())
    }

    /// Takes a node out of a group.
    pub fn dissociate(&mut self, group: u32, handle: NodeHandle) -> Result {
        let node = self.node(handle)?;
        if node.group != Some(group) {
            return Err(ReplicationError::NotAssociated { node: handle, group });
        }
        node.group = None;
        let nodes = self.groups.get_mut(&group).ok_or(ReplicationError::NoGroup(group))?;
        nodes.retain(|&member| member != handle);
        Ok(())
    }

    /// The copies that a group makes: node by node, ports ascending. Empty if there is no such group.
    pub fn replicas(&self, group: u32) -> Vec<Replica> {
        let nodes = self.groups.get(&group).into_iter().flatten().filter_map(|handle| self.nodes.get(handle));
        nodes.flat_map(|node| node.ports.iter().map(|&port| Replica { rid: node.rid, port })).collect()
    }

    fn node(&mut self, handle: NodeHandle) -> Result<&mut Node> {
        self.nodes.get_mut(&handle).ok_or(ReplicationError::NoNode(handle))
    }
}

/// The ports in order, each once.
fn ascending(ports: &[usize]) -> Result<Vec<usize>> {
    if let Some(&port) = ports.iter().find(|&&port| port > MAX_PORT) {
        return Err(ReplicationError::Port(port));
    }
    let mut ports = ports.to_vec();
    ports.sort_unstable();
    ports.dedup();
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(rid: u16, port: usize) -> Replica {
        Replica { rid, port }
    }

    #[test]
    fn a_group_copies_node_by_node_and_port_by_port() {
        let mut replication = Replication::default();
        replication.create_group(7);
        let nodes =
            [(5, &[3, 1, 3][..]), (4, &[2, 1])].map(|(rid, ports)| replication.create_node(rid, ports).unwrap());
        assert_eq!(nodes, [NodeHandle(0), NodeHandle(1)]);
        assert_eq!(replication.replicas(7), []);
        for node in [nodes[1], nodes[0]] {
            replication.associate(7, node).unwrap();
        }
        assert_eq!(replication.replicas(7), [replica(4, 1), replica(4, 2), replica(5, 1), replica(5, 3)]);
        replication.update_node(nodes[0], &[511]).unwrap();
        replication.dissociate(7, nodes[1]).unwrap();
        replication.create_group(7);
        assert_eq!(replication.replicas(7), [replica(5, 511)]);
        replication.destroy_node(nodes[0]).unwrap();
        assert_eq!((replication.replicas(7), replication.replicas(8)), (vec![], vec![]));
        // The number is used again.
        assert_eq!(replication.create_node(1, &[]), Ok(NodeHandle(0)));
    }

    #[test]
    fn a_refusal_names_what_is_wrong() {
        let mut replication = Replication::default();
        let node = replication.create_node(1, &[0]).unwrap();
        let none = NodeHandle(9);
        assert_eq!(replication.associate(1, node), Err(ReplicationError::NoGroup(1)));
        replication.create_group(1);
        replication.create_group(2);
        assert_eq!(replication.associate(1, none), Err(ReplicationError::NoNode(none)));
        replication.associate(1, node).unwrap();
        assert_eq!(replication.associate(2, node), Err(ReplicationError::Associated { node, group: 1 }));
        assert_eq!(replication.dissociate(2, node), Err(ReplicationError::NotAssociated { node, group: 2 }));
        assert_eq!(replication.create_node(1, &[511, 512]), Err(ReplicationError::Port(512)));
        assert_eq!(replication.update_node(node, &[600]), Err(ReplicationError::Port(600)));
        assert_eq!(replication.destroy_group(3), Err(ReplicationError::NoGroup(3)));
        replication.destroy_group(1).unwrap();
        assert_eq!(replication.associate(2, node), Ok(()));
        assert_eq!(replication.add_session(MAX_SESSION, Mirror::Port(1)), Ok(()));
        assert_eq!(
            replication.add_session(MAX_SESSION + 1, Mirror::Port(1)),
            Err(ReplicationError::SessionRange(MAX_SESSION + 1))
        );
        assert_eq!(replication.delete_session(3), Err(ReplicationError::NoSession(3)));
        assert_eq!(replication.delete_session(MAX_SESSION), Ok(()));
        assert_eq!(replication.session(MAX_SESSION), None);
    }
}
